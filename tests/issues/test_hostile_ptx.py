"""PTX that asks for more than there is, or that is none: one clear line, in bounded memory, and never a crash."""
import pathlib
import resource
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import Case  # noqa: E402

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
MOST_BYTES = 1 << 30


def kernel(body, before="", parameters=""):
    return f"{HEAD}{before}\n.visible .entry k({parameters})\n{{\n{REGISTERS}{body}\nret;\n}}\n"


def many(count, text):
    return "".join(text.replace("#", str(i)) for i in range(count))


# name: (PTX, outcome, a part of the log or of the first report)
CASES = {
    "a range of registers": (kernel(".reg .b32 %q<4000000000>;"), "build_failed", "4000000000 registers"),
    "many ranges": (kernel(many(1000, ".reg .b32 %q#_<100000>;")), "unsupported", "more registers"),
    "deep scopes": (kernel("{" * 10**6 + "}" * 10**6), "build_failed", "nested deeper than 32"),
    "many scopes": (kernel("{ .reg .b32 %q<4>; }" * 10**5), "unsupported", "more registers"),
    "parentheses": (kernel("mov.u32 %r1, " + "(" * 10**6 + "1;"), "build_failed", "nested deeper"),
    "signs": (kernel("mov.u32 %r1, " + "-" * 10**6 + "1;"), "build_failed", "nested deeper"),
    "a long sum": (kernel("mov.u32 %r1, " + "1+" * 10**6 + "1;"), "completed", ""),
    "a long line": (kernel("add.u32 %r1, %r1, 1; " * 10**5), "completed", ""),
    "a long name": (kernel("mov.u32 %r1, " + "a" * 10**6 + ";"), "build_failed", "aaaa"),
    "a long opcode": (kernel("a" * 10**6 + ";"), "build_failed", "no instruction has this name"),
    "many modifiers": (kernel("add" + ".u32" * 10**6 + " %r1, %r1, %r1;"), "build_failed", "more than 64 parts"),
    "many operands": (kernel("add.u32 " + "%r1, " * 10**6 + "%r1;"), "build_failed", "more than 64 operands"),
    "a wide vector": (kernel("mov.b32 %r1, {" + "%r1, " * 10**6 + "%r1};"), "build_failed", "more than 4096"),
    "a global of a terabyte": (kernel("", ".global .b8 g[1099511627776];"), "build_failed", "larger than"),
    "a global of 2^67 bytes": (kernel("", ".global .b64 g[4294967296][4294967296];"), "build_failed", "too large"),
    "many globals": (kernel("", many(1000, ".global .b8 g#[1000000];\n")), "build_failed", "larger than"),
    "very many globals": (kernel("", many(10**5, ".global .b8 g#;\n")), "build_failed", "no addresses left"),
    "a large shared": (kernel(".shared .b8 s[1099511627776]; mov.u64 %rd1, s;"), "unsupported", "larger than any GPU"),
    "a large local": (kernel(".local .b8 s[4294967296]; mov.u64 %rd1, s;"), "unsupported", "more local memory"),
    "many shared": (kernel(many(10**4, ".shared .b8 s#[900000]; mov.u64 %rd1, s#;")), "launch_refused", "at most"),
    "many labels": (kernel(many(10**5, "L#:\n")), "completed", ""),
    "a table of branches": (kernel("L: T: .branchtargets " + "L, " * 10**5 + "L; ret;"), "completed", ""),
    "a ring of aliases": (kernel("call a;", ".alias a, b;\n.alias b, a;"), "build_failed", "'a' is not a function"),
    "a missing function": (kernel("call missing;", ".extern .func missing();"), "build_failed", "nothing defines"),
    "many functions": (kernel(many(5000, "call f#;"), many(5000, ".func f#() { ret; }\n")), "unsupported",
                       "more functions"),
    "endless recursion": (kernel("call f;", ".func f() { call f; ret; }"), "faulted", "calls nest deeper"),
    "recursion with large frames": (kernel("call f;", ".func f() { .local .b8 s[400000]; st.local.u8 [s], 1;"
                                           " call f; ret; }"), "faulted", "calls nest deeper"),
    "a chain of moves": (kernel("".join(f"mov.u32 %q{i}, %q{i + 1};" for i in range(59990)) +
                                "@%p1 st.shared.u32 [s], %q0; ld.shared.v4.u8 {%rs1, %rs2, %rs3, %rs1}, [s];",
                                ".shared .b32 s[4];").replace(REGISTERS, REGISTERS + ".reg .b32 %q<60000>;"),
                         "faulted", "before anything is written"),
    "a section without end": (HEAD + ".section .debug_info {" + ".b8 1\n" * 1000, "build_failed", "'}' is missing"),
    "a comment without end": (HEAD + "/*" + "x" * 10**6, "build_failed", "a comment that does not end"),
    "NUL bytes": (HEAD + "\0\0" + kernel("")[len(HEAD):], "build_failed", "line 4"),
    "bytes that are not UTF-8": (HEAD.encode() + b".visible .entry \xff\xfe() { ret; }", "build_failed", "line 4"),
    "a name that is not UTF-8": (kernel("foo.\udcff %r1;"), "build_failed", "line 8"),
    "a parameter of 2 GiB": (kernel("", parameters=".param .b8 p[2147483648]"), "build_failed", "2147483648"),
    "a vector of 16": (kernel(".reg .v16 .b32 v;"), "build_failed", "'.v16'"),
    "a negative alignment": (kernel("", ".global .align -4 .b8 g;"), "build_failed", "an alignment"),
    "an offset at the limit": (kernel("mov.u64 %rd1, 0; ld.global.u32 %r1, [%rd1+9223372036854775807];"), "faulted",
                               "in no buffer"),
    "a parameter's offset": (kernel("{ .param .b32 q; st.param.b32 [q+9223372036854775806], 1; }"), "unsupported",
                             "past the end"),
    "a version of garbage": (".version 99999999999999.1\n.target sm_90\n.address_size 64\n", "build_failed", "line 1"),
    "a target of garbage": (HEAD.replace("sm_90", "foo"), "build_failed", "'foo' is not a target"),
    "lines of no file": (kernel(".loc 99 1 1\n.loc 4294967297 1 1\nmov.u32 %r1, 0;"), "completed", ""),
    "an initial value of nothing": (kernel("", ".global .b64 g = nothing;"), "build_failed", "'nothing'"),
}


class HostilePtx(Case):
    def test_every_case_ends_with_one_line(self):
        for name, (text, outcome, words) in CASES.items():
            with self.subTest(case=name):
                self.folder.joinpath("k.ptx").write_bytes(
                    text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
                seen = self.json("exec", "k.ptx", "--launch", "k<<<1, 32>>>()", "--device", "vgpu",
                                 code=0 if outcome == "completed" else 3)
                said = seen["log"] or (seen["reports"][0]["message"] if seen["reports"] else "")
                self.assertEqual(seen["outcome"], outcome, said)
                self.assertIn(words, said)
                self.assertNotIn("\n", said)
                self.assertLess(len(said), 1000)

    def test_memory_is_bounded(self):
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.assertLess(most, MOST_BYTES)


if __name__ == "__main__":
    unittest.main()
