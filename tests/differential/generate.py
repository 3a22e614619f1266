"""Writes the suite: PTX modules that apply many forms to each element of one set of inputs, and the inputs.

    python3 generate.py FOLDER [--sm 90]

Every form of a group reads the same operands (a, b, c of element i, one thread an element) and stores its result, and a
second one where it has one, to a slice of its own in the buffer `out`. The same text runs on a GPU and on the virtual
GPU; nothing is computed here but inputs.
"""
import argparse
import dataclasses
import pathlib

import forms
import inputs
import npy

FORMS_A_MODULE = 48
BLOCK = 256


@dataclasses.dataclass
class Slice:
    """Where a form's results lie in the module's output, in bytes."""
    form: forms.Form
    first: int
    second: int  # of e, or -1
    bytes: int


@dataclasses.dataclass
class Module:
    name: str
    domains: tuple
    elements: int
    slices: list
    out_bytes: int
    sm: int

    def ptx(self):
        return _module(self)

    def launch(self):
        names = [f"x{i}" for i in range(len(self.domains))]
        return f"forms<<<{self.elements // BLOCK}, {BLOCK}>>>({', '.join([*names, 'out'])})"

    def buffers(self, folder):
        """The --buffer options; the files of inputs lie in `folder`."""
        kinds = {16: "u16", 32: "u32", 64: "u64"}
        words = []
        for i, domain in enumerate(self.domains):
            words += ["--buffer", f"x{i}:{kinds[inputs.BITS[domain]]}[{self.elements}]=@{folder}/{input_file(self.domains, i)}"]
        return words + ["--buffer", f"out:u8[{self.out_bytes}]=zeros"]


def input_file(domains, number):
    return "-".join(domains) + f".{number}.npy"


def _store(bits, register, at, element):
    return f"st.global.b{bits} [{element}+{at}], {register};"


def _form(slice_):
    form = slice_.form
    bits = form.bits
    lines = [f"// {form.name}", "{", f".reg .b{bits} d, e;", ".reg .pred p, q, r;", ".reg .b16 h<4>;", ".reg .b32 t<6>;", ".reg .b64 x<4>, ea;"]
    if "ea" in form.body:
        lines.append(f"add.s64 ea, at{bits}, {slice_.second if form.two else slice_.first};")
    lines += [form.body, _store(bits, "d", slice_.first, f"at{bits}")]
    if form.two:
        lines.append(_store(bits, "e", slice_.second, f"at{bits}"))
    return "\n".join([*lines, "}"])


def _module(module):
    parameters = ", ".join(f".param .u64 p{i}" for i in range(len(module.domains) + 1))
    lines = [".version 9.0", f".target sm_{module.sm}{'a' if module.sm == 100 else ''}", ".address_size 64", f".visible .entry forms({parameters})", "{",
             ".reg .b32 i, tid, sa;", ".reg .b64 base, at16, at32, at64;", ".shared .align 8 .b8 slot[2048];"]
    for name, domain in zip("abc", module.domains):
        lines.append(f".reg .b{inputs.BITS[domain]} {name};")
    lines += ["mov.u32 tid, %tid.x;", "mov.u32 i, %ctaid.x;", f"mad.lo.u32 i, i, {BLOCK}, tid;", "mov.u32 sa, slot;",
              "mad.lo.u32 sa, tid, 8, sa;"]
    for number, (name, domain) in enumerate(zip("abc", module.domains)):
        bits = inputs.BITS[domain]
        lines += [f"ld.param.u64 base, [p{number}];", f"mad.wide.u32 base, i, {bits // 8}, base;", f"ld.global.b{bits} {name}, [base];"]
    lines.append(f"ld.param.u64 base, [p{len(module.domains)}];")
    lines += [f"mad.wide.u32 at{bits}, i, {bits // 8}, base;" for bits in (16, 32, 64)]
    lines += [_form(slice_) for slice_ in module.slices]
    return "\n".join([*lines, "ret;", "}", ""])


def modules(sm=90, chosen=None):
    """The modules of the forms whose first architecture is `sm`, dense ones last."""
    groups = {}
    for form in chosen if chosen is not None else forms.expand():
        if form.sm == sm:
            groups.setdefault(form.domains, []).append(form)
    result = []
    for domains, members in sorted(groups.items(), key=lambda item: (item[0][0].startswith("dense"), item[0])):
        elements = inputs.elements(domains)
        size = 4 if elements == inputs.DENSE else FORMS_A_MODULE
        for start in range(0, len(members), size):
            slices, at = [], 0
            for form in members[start:start + size]:
                width = elements * form.bits // 8
                slices.append(Slice(form, at, at + width if form.two else -1, width))
                at += width * (2 if form.two else 1)
            name = f"{'-'.join(domains)}.{start // size}"
            result.append(Module(name, domains, elements, slices, at, sm))
    return result


def write(folder, chosen):
    """Writes modules and inputs into a folder."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for module in chosen:
        (folder / f"{module.name}.ptx").write_text(module.ptx())
    for domains in sorted({module.domains for module in chosen}):
        for number, values in enumerate(inputs.make(domains)):
            npy.write(folder / input_file(domains, number), values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--sm", type=int, default=90, choices=(90, 100))
    words = parser.parse_args()
    chosen = modules(words.sm)
    write(words.folder, chosen)
    print(f"{sum(len(module.slices) for module in chosen)} forms in {len(chosen)} modules")


if __name__ == "__main__":
    main()
