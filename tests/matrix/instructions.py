"""Kernels of one tensor-core instruction each, for suite.py (what it computes) and numerics.py (its last bits).

A block of mma is a warp, of wgmma a warpgroup; every block takes its own operands, as the registers and shared memory hold
them, from buffers of 32-bit words and stores what the sums' registers hold. Layouts follow the PTX ISA 9.0, sections 9.7.14.5
(mma) and 9.7.15.5.1 (wgmma, its matrix descriptors). Nothing but Python is needed."""

import array
import json
import pathlib
import struct
import subprocess

BITS = {"f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4,
        "u4": 4, "b1": 1}


class Instruction:
    """types: of D, A, B, C. form: how the operands lie, for wgmma: A in registers or shared memory, MN-major, swizzle …"""

    def __init__(self, name, m, n, k, d, a, b, c, **form):
        self.name, self.m, self.n, self.k, self.d, self.a, self.b, self.c, self.form = name, m, n, k, d, a, b, c, form
        self.group = m == 64  # of wgmma

    def label(self):
        placed = ("a_descriptor", "b_descriptor", "image_bytes", "op", "quads")
        form = "".join(f" {key}={value}" for key, value in self.form.items() if value and key not in placed)
        return self.name + form

    def threads(self):
        return 128 if self.group else 32

    # Words of 32 bits that a thread holds.
    def a_words(self):
        if "quads" in self.form:
            return 2
        kept = 2 if "selector" in self.form else 1
        return 0 if self.form.get("shared_a") else min(self.m, 16) * self.k * BITS[self.a] // 32 // 32 // kept

    def b_words(self):
        if "quads" in self.form:
            return 2
        if self.group:
            return 1 if "selector" in self.form else 0  # metadata
        return self.n * self.k * BITS[self.b] // 32 // 32

    def d_words(self, kind=None):
        if "quads" in self.form:
            return BITS[kind or self.d] // 4
        return min(self.m, 16) * self.n * BITS[kind or self.d] // 32 // 32

    def shared_words(self):
        return self.form.get("image_bytes", 0) // 4


def registers(prefix, count):
    return "{" + ", ".join(f"{prefix}{i}" for i in range(count)) + "}"


def source(one):
    """A kernel `k(a, b, c, image, d)` as CUDA C++; its registers are declared in the PTX, so that no type is in the way."""
    na, nb, nc, nd = one.a_words(), one.b_words(), one.d_words(one.c), one.d_words()
    wide = one.a == "f64"
    kinds = {"a": one.a, "b": one.b, "c": one.c, "d": one.d}
    counts = {"a": na, "b": nb, "c": nc, "d": nd}
    lines = []
    for name, kind in kinds.items():
        count = counts[name] // (2 if wide else 1)
        if count:
            lines.append(f".reg .b{64 if wide else 32} {name}<{count}>;")
    step = 8 if wide else 4
    for name in "abc":
        for i in range(counts[name] // (2 if wide else 1)):
            lines.append(f"ld.global.b{8 * step} {name}{i}, [p{name} + {i * step}];")
    body = []
    if one.group:
        for i in range(nd):
            body.append(f"mov.b32 d{i}, c{i};")
        sparse = f"b0, {one.form['selector']}, " if "selector" in one.form else ""
        scale, sign_a, sign_b = one.form.get("scale_d", 1), one.form.get("sign_a", 1), one.form.get("sign_b", 1)
        first = "da" if one.form.get("shared_a") else registers("a", na)
        tail = "keeps"
        if BITS[one.a] >= 8 and one.a not in ("s8", "u8"):
            tail += f", {sign_a}, {sign_b}"
            if BITS[one.a] == 16:
                tail += (f", {int(one.form.get('a_rows', 0))}" if one.form.get("shared_a") else "") + f", {int(one.form.get('b_rows', 0))}"
        body += [".reg .pred keeps;", f"setp.ne.u32 keeps, {scale}, 0;", "wgmma.fence.sync.aligned;",
                 f"{one.name} {registers('d', nd)}, {first}, db, {sparse}{tail};",
                 "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    else:
        half = 2 if wide else 1
        tail = ""
        if "selector" in one.form:
            lines += [".reg .b32 e;", "ld.global.b32 e, [da];"]
            tail = f", e, {one.form['selector']}"
        body.append(f"{one.name} {registers('d', nd // half)}, {registers('a', na // half)}, {registers('b', nb // half)}, {registers('c', nc // half)}{tail};")
    for i in range(nd // (2 if wide else 1)):
        body.append(f"st.global.b{8 * step} [pd + {i * step}], d{i};")
    text = " ".join(lines + body).replace("%", "%%")
    setup = ".reg .b64 pa, pb, pc, pd, da, db; mov.b64 pa, %0; mov.b64 pb, %1; mov.b64 pc, %2; mov.b64 pd, %3; mov.b64 da, %4; mov.b64 db, %5;"
    descriptors = "\n    da = (unsigned long long)(images + t);" if "selector" in one.form and not one.group else ""
    if one.group:
        descriptors = f"""
    extern __shared__ __align__(1024) unsigned image[];
    for (int i = threadIdx.x; i < {one.shared_words()}; i += 128) image[i] = images[(size_t)blockIdx.x * {one.shared_words()} + i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned long long at = (unsigned)__cvta_generic_to_shared(image) >> 4;
    da = {one.form.get('a_descriptor', 0)}ull + at; db = {one.form.get('b_descriptor', 0)}ull + at;"""
    return f"""extern "C" __global__ void __launch_bounds__({one.threads()}) k(const unsigned* a, const unsigned* b, const unsigned* c, const unsigned* images, unsigned* d) {{
    const size_t t = (size_t)blockIdx.x * {one.threads()} + threadIdx.x;
    unsigned long long da = 0, db = 0;{descriptors}
    asm volatile("{{ {setup} {text} }}" :: "l"(a + t * {na}), "l"(b + t * {nb}), "l"(c + t * {nc}), "l"(d + t * {nd}), "l"(da), "l"(db) : "memory");
}}
"""


def npy(path, words):
    values = array.array("I", words)
    head = str({"descr": "<u4", "fortran_order": False, "shape": (len(values),)})
    head = head + " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values.tobytes())


def run(program, device, folder, one, blocks, a, b, c, images):
    """The words of D for `blocks` blocks; a string that says why where there are none."""
    path = pathlib.Path(folder)
    (path / "k.cu").write_text(source(one))
    words = [program, "exec", str(path / "k.cu"), "--device", device, "--target", "sm_90a", "--json", "--print", "d"]
    for name, values in (("a", a), ("b", b), ("c", c), ("images", images)):
        values = values or [0]
        npy(path / f"{name}.npy", values)
        words += ["--buffer", f"{name}:u32[{len(values)}]=@{path / name}.npy"]
    count = blocks * one.threads() * one.d_words()
    shared = 4 * one.shared_words()
    words += ["--buffer", f"d:u32[{count}]=zeros", "--launch", f"k<<<{blocks}, {one.threads()}, {shared}>>>(a, b, c, images, d)"]
    done = subprocess.run(words, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        return done.stderr.strip()[-300:]
    said = json.loads(done.stdout)
    if said["outcome"] != "completed":
        return f"{said['outcome']}: {said.get('log', '')[-300:]} {said.get('reports', '')}"
    return said["buffers"]["d"]


# --- Where elements lie ----------------------------------------------------------------------------------------------


def packed(elements, bits):
    """Element codes as 32-bit words, the first lowest."""
    whole = 0
    for i, code in enumerate(elements):
        whole |= code << i * bits
    return [whole >> 32 * i & 0xFFFFFFFF for i in range(len(elements) * bits // 32)]


def fragment(rows, bits, two_halves):
    """The words of A (by rows), or of B (by columns), thread by thread: 16 bytes of a row in a register of four lanes."""
    lines = [packed(row, bits) for row in rows]
    wide = 2 if bits == 64 else 1
    parts = len(lines[0]) // 4 // wide
    words = []
    for lane in range(32):
        for part in range(parts):
            for half in range(2 if two_halves else 1):
                at = (part * 4 + lane % 4) * wide
                words += lines[lane // 4 + 8 * half][at : at + wide]
    return words


def sums(rows, bits):
    """The words of C for 16 (or 8) rows, thread by thread."""
    words = []
    for lane in range(32):
        for first in range(0, len(rows[0]), 8):
            for half in range(len(rows) // 8):
                row, column = lane // 4 + 8 * half, first + lane % 4 * 2
                words += packed(rows[row][column : column + 2], bits)
    return words


class Sparse:
    """Half of A is zero: chunks of four units keep two. A unit is an element, half a tf32 or two of 4 bits."""

    def __init__(self, one, rng):
        bits = BITS[one.a]
        self.units = one.k * bits // (16 if bits >= 16 else 8)  # of a row
        self.two_rows, self.threads, self.selector = bits >= 16, self.units // 16, one.form["selector"]
        pairs = ((0, 1), (2, 3)) if bits == 32 else ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
        self.places = [[4 * chunk + place for chunk in range(self.units // 4) for place in rng.choice(pairs)] for _ in range(16)]
        self.elements = [sorted({unit * one.k // self.units + i for unit in row for i in range(max(one.k // self.units, 1))}) for row in self.places]

    def words(self):
        """Metadata by lane; what no thread should look at is noise."""
        rows = [sum((place % 4) << 2 * i for i, place in enumerate(row)) for row in self.places]
        words = [0x5A5A5A5A] * 32
        for group in range(8):
            first = group * 4 + self.selector * self.threads
            for j in range(self.threads):
                if self.two_rows:
                    words[first + j] = rows[group] >> 16 * j & 0xFFFF | (rows[group + 8] >> 16 * j & 0xFFFF) << 16
                else:
                    words[first + j] = rows[group + 8 * (j % 2)] >> 32 * (j // 2) & 0xFFFFFFFF
        return words


def from_sums(words, rows, columns, bits):
    """The codes that `sums` has packed."""
    table = [[0] * columns for _ in range(rows)]
    at = iter(words)
    for lane in range(32):
        for first in range(0, columns, 8):
            for half in range(rows // 8):
                whole = 0
                for i in range(2 * bits // 32):
                    whole |= next(at) << 32 * i
                row, column = lane // 4 + 8 * half, first + lane % 4 * 2
                table[row][column], table[row][column + 1] = whole & (1 << bits) - 1, whole >> bits
    return table


CHUNKS = {0: 1, 128: 8, 64: 4, 32: 2}
CODES = {0: 0, 128: 1, 64: 2, 32: 3}


class Image:
    """Operands in shared memory, and their descriptors relative to its start."""

    def __init__(self):
        self.bytes = bytearray()

    def add(self, rows, bits, by_rows, swizzle, spread=0):
        """`rows` by 32 or 64 bytes of K. `spread`: bytes between pieces that need not be there. Returns the descriptor."""
        chunks = CHUNKS[swizzle]
        start = (len(self.bytes) + 1023) // 1024 * 1024
        atom = 128 * chunks + spread
        count, line = len(rows), len(rows[0])
        parts = line * bits // 128
        if by_rows:
            pieces = -(-count // (8 * chunks))
            if chunks == 1:
                stride, leading = atom, atom * pieces
            else:
                leading, stride = atom, atom * pieces
            size = pieces * (line // 8) * atom
        elif chunks == 1:
            leading, stride = atom, parts * atom
            size = count // 8 * parts * atom
        else:
            leading, stride = 16, atom
            size = count // 8 * atom
        self.bytes.extend(bytes(start + size - len(self.bytes)))
        for row, elements in enumerate(rows):
            for k in range(line):
                if by_rows:
                    piece, next_piece, later = row // 8, stride if chunks == 1 else leading, leading if chunks == 1 else stride
                    at = piece % chunks * 16 + piece // chunks * next_piece + k % 8 * chunks * 16 + k // 8 * later + row % 8 * 2
                    self.put(start, at, chunks, elements[k], bits)
                else:
                    part, inside = k * bits // 128, k * bits % 128
                    at = row // 8 * stride + row % 8 * chunks * 16 + part * (leading if chunks == 1 else 16) + inside // 8
                    self.put(start, at, chunks, elements[k], bits, inside % 8)
        return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | CODES[swizzle] << 62

    def put(self, start, at, chunks, code, bits, shift=0):
        address = start + at
        address ^= (address >> 7 & chunks - 1) << 4
        for i in range(max(bits // 8, 1)):
            self.bytes[address + i] |= (code << shift) >> 8 * i & 0xFF

    def words(self):
        self.bytes.extend(bytes(-len(self.bytes) % 4))
        return list(struct.unpack(f"<{len(self.bytes) // 4}I", self.bytes))
