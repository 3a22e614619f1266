"""Logic, video, moves, conversions, warps, atomics and memory (grammar.py says how to read a rule)."""
import itertools

from grammar import ALL_INTS, ROUND, WIDTH, rule

# ── Logic and shifts (9.7.8), prmt ──
rule("[and|or|xor].{T}", "{T}", "{T} {T}", T="b16 b32 b64")
rule("[and|or|xor].pred", "b32", "flag flag", "setp.ne.u32 p, a, 0; setp.ne.u32 q, b, 0; OP p, p, q; selp.b32 d, 1, 0, p;")
rule("[and|or|xor].pred", "b32", "flag flag",
     "setp.ne.u32 p, a, 0; setp.ne.u32 q, b, 0; OP r, !p, q; OP p, p, !q; selp.b32 d, 1, 0, p; selp.b32 e, 1, 0, r;", label="negated")
rule("not.pred", "b32", "flag", "setp.ne.u32 p, a, 0; OP p, !p; selp.b32 d, 1, 0, p;", label="negated")
rule("not.pred", "b32", "flag", "setp.ne.u32 p, a, 0; OP p, p; selp.b32 d, 1, 0, p;")
rule("[not|cnot].{T}", "{T}", "{T}", T="b16 b32 b64")
for table in (0x00, 0x01, 0x1b, 0x80, 0x96, 0xe8, 0xca, 0xea, 0xf8, 0xfe, 0x6a, 0x78, 0x53, 0xac, 0x27, 0xff):
    rule("lop3.b32", "b32", "b32 b32 b32", f"OP d, a, b, c, {table:#x};", label=f"{table:#04x}")
rule("lop3.[or|and].b32", "b32", "b32 few flag",
     "setp.ne.u32 r, c, 0; OP d|p, a, b, c, 0xc0, r; selp.b32 t0, 1, 0, p; OP t1|q, a, b, c, 0x6a, !r; selp.b32 t1, 2, 0, q; or.b32 e, t0, t1;")
rule("shf.[l|r].[clamp|wrap].b32", "b32", "b32 b32 shift")
rule("shl.{T}", "{T}", "{T} shift", T="b16 b32 b64")
rule("shr.{T}", "{T}", "{T} shift", T="b16 b32 b64 u16 u32 u64 s16 s32 s64")
rule("prmt.b32[|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16]", "b32", "b32 b32 selector")

# ── Video (9.7.17, 9.7.18) ──
VIDEO, SIGNS, COMPARE = "[vadd|vsub|vabsdiff|vmin|vmax]", "[u32|s32].[u32|s32]", "[eq|ne|lt|le|gt|ge]"
EXPANDED = "expansion"
rule(VIDEO + ".[u32|s32]." + SIGNS, "b32", "b32 b32")
rule(VIDEO + ".[u32|s32]." + SIGNS + ".sat", "b32", "b32 b32", note=EXPANDED)
rule(VIDEO + ".[u32|s32].[s32.u32|u32.u32].add", "b32", "b32 b32 b32")
rule(VIDEO + ".[u32|s32].[s32.u32|u32.u32].sat.add", "b32", "b32 b32 b32", note=EXPANDED)
rule(VIDEO + ".[u32|s32].[s32.u32|u32.u32][.sat|].[min|max]", "b32", "b32 b32 b32", note=EXPANDED)
rule(VIDEO + ".s32.[u32.s32|s32.u32][.sat|]", "b32", "b32 b32", "OP d, a.{A}, b.{B};", A="b0 b3 h1", B="b1 h0", label="selected")
rule(VIDEO + ".[s32.s32.s32|u32.s32.u32]", "b32", "b32 b32 b32", "OP d.{D}, a, b, c;", D="b0 b2 h0", label="inserted")
rule(VIDEO + ".[s32.s32.s32|u32.s32.u32]", "b32", "b32 b32 b32", "OP d.h1, a, b, c;", label="inserted h1", note=EXPANDED)
rule(VIDEO + ".[s32.s32.s32|u32.s32.u32].sat", "b32", "b32 b32 b32", "OP d.{D}, a, b, c;", D="b0 b2 h0 h1", label="inserted", note=EXPANDED)
rule("[vshl|vshr].[u32|s32].[u32|s32].u32.[clamp|wrap]", "b32", "b32 shift")
rule("[vshl|vshr].[u32|s32].[u32|s32].u32.sat.[clamp|wrap]", "b32", "b32 shift", note=EXPANDED)
rule("[vshl|vshr].s32.s32.u32.clamp.add", "b32", "b32 shift b32")
rule("[vshl|vshr].s32.s32.u32[.sat|].clamp.[min|max]", "b32", "b32 shift b32", note=EXPANDED)
rule("[vshl|vshr].s32.s32.u32.sat.clamp.add", "b32", "b32 shift b32", note=EXPANDED)
rule("[vshl|vshr].u32.s32.u32.clamp", "b32", "b32 shift b32", "OP d.b1, a.h1, b.b0, c;", label="inserted b1")
rule("[vshl|vshr].u32.s32.u32[.sat|].clamp", "b32", "b32 shift b32", "OP d.h1, a.h1, b.b0, c;", label="inserted h1", note=EXPANDED)
rule("[vshl|vshr].u32.s32.u32.sat.clamp", "b32", "b32 shift b32", "OP d.b1, a.h1, b.b0, c;", label="inserted b1", note=EXPANDED)
rule("vmad.[u32.u32.u32|s32.u32.s32|s32.s32.u32|s32.s32.s32][.po|]", "b32", "b32 b32 b32")
rule("vmad.[u32.u32.u32|s32.u32.s32|s32.s32.u32|s32.s32.s32][.po|][.shr7|.shr15]", "b32", "b32 b32 b32", note=EXPANDED)
rule("vmad.[u32.u32.u32|s32.u32.s32|s32.s32.u32|s32.s32.s32][.po|].sat[|.shr7|.shr15]", "b32", "b32 b32 b32", note=EXPANDED)
rule("vmad.s32.[u32.u32|s32.u32|s32.s32]", "b32", "b32 b32 b32", "OP d, {N};", N="-a,b,c a,-b,c a,b,-c a.b0,b.h1,c", label="of")
rule("vmad.s32.[u32.u32|s32.u32|s32.s32].sat", "b32", "b32 b32 b32", "OP d, {N};", N="-a,b,c a,-b,c a,b,-c a.b0,b.h1,c", label="of",
     note=EXPANDED)
rule("vmad.s32.[u32.u32|s32.u32|s32.s32][.sat|].shr7", "b32", "b32 b32 b32", "OP d, {N};", N="-a,b,c a,-b,c a,b,-c a.b0,b.h1,c", label="of",
     note=EXPANDED)
rule("vset." + SIGNS + "." + COMPARE, "b32", "b32 b32")
rule("vset." + SIGNS + ".[lt|eq].add", "b32", "b32 b32 b32")
rule("vset." + SIGNS + ".[lt|eq].[min|max]", "b32", "b32 b32 b32", note=EXPANDED)
rule("vset.s32.u32.lt", "b32", "b32 b32 b32", "OP d.b1, a.b1, b.h1, c;", label="inserted b1")
rule("vset.s32.u32.lt", "b32", "b32 b32 b32", "OP d.h1, a.b1, b.h1, c;", label="inserted h1", note=EXPANDED)
for number, domain, fields in ((2, "u16x2", ("h0 h1 h10", "a.h31,b.h02 a.h10,b.h32")), (4, "i8x4", ("b0 b3 b20 b3210", "a.b7531,b.b0246 a.b3210,b.b7654"))):
    simd = f"[vadd{number}|vsub{number}|vavrg{number}|vabsdiff{number}|vmin{number}|vmax{number}]"
    rule(f"{simd}.[u32|s32].{SIGNS}[.sat|.add|]", "b32", f"{domain} {domain} b32", "OP d, a, b, c;")
    rule(f"{simd}.[s32.u32.s32|u32.u32.u32][.sat|]", "b32", f"{domain} {domain} b32", "OP d.{D}, {S}, c;", D=fields[0], S=fields[1], label="selected")
    rule(f"vset{number}.{SIGNS}.{COMPARE}[.add|]", "b32", f"{domain} {domain} b32", "OP d, a, b, c;")
    rule(f"vset{number}.s32.u32.lt", "b32", f"{domain} {domain} b32", "OP d.{D}, {S}, c;", D=fields[0], S=fields[1], label="selected")

# ── Moves (9.7.9) ──
rule("mov.b32", "b32", "b16 b16", "OP d, {a, b};", label="pack")
rule("mov.b64", "b64", "b32 b32", "OP d, {a, b};", label="pack")
rule("mov.b64", "b64", "b16 b16 b16", "OP d, {a, b, c, a};", label="pack 4")
rule("mov.b16", "b16", "b16", "{ .reg .b8 y, z; OP {y, z}, a; OP d, {z, y}; }", label="bytes")
rule("mov.b32", "b32", "b32", "{ .reg .b8 w, x, y, z; OP {w, x, y, z}, a; OP d, {z, x, y, w}; }", label="bytes")
rule("mov.b32", "b16", "b32", "OP {d, e}, a;", label="unpack")
rule("mov.b64", "b32", "b64", "OP {d, e}, a;", label="unpack")
rule("mov.b64", "b16", "b64", "OP {h0, d, e, h1}, a;", label="unpack 4")

# ── cvt (9.7.9.21) ──
def _loses(source, target):
    """Whether values of the one integer type do not fit the other: only there is .sat legal."""
    def span(kind):
        bits = int(kind[1:])
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return span(source)[0] < span(target)[0] or span(source)[1] > span(target)[1]


for source, target in itertools.product(ALL_INTS.split(), repeat=2):
    rule(f"cvt[.sat|].{target}.{source}" if _loses(source, target) else f"cvt.{target}.{source}", target, source)
for source in ALL_INTS.split():
    rule(f"cvt{ROUND}.{'[f16|bf16]' if source[1:] != '8' else 'f16'}.{source}", "b16", source)
    rule(f"cvt{ROUND}[.sat|].f32.{source}", "b32", source)
    rule(f"cvt{ROUND}[.sat|].f64.{source}", "b64", source)
    rule(f"cvt.rn.sat.f16.{source}", "b16", source)
for target in ALL_INTS.split():
    for source in ("f16", "bf16", "f32", "f64"):
        if source == "bf16" and target[1:] == "8":
            continue
        narrow = "all16" if source in ("f16", "bf16") else source
        rule(f"cvt[.rni|.rzi|.rmi|.rpi]{'' if source == 'bf16' else '[.sat|]'}.{target}.{source}", target, narrow)
    rule(f"cvt[.rni|.rzi|.rmi|.rpi].ftz[.sat|].{target}.f32", target, "f32")
rule("cvt.[u8|s8|u16|s16].[u32|s32|u64]", "b32", "b64", label="of b64, to b32")
rule("cvt.sat.[u8|s8|u16|s16].s32", "b64", "b64", label="of b64, to b64")
rule("cvt.[u32|s32|u64|s64].[u8|s8|u16|s16]", "b64", "b32", label="of b32, to b64")
rule("cvt.[rni|rpi].[u8|s8|u16|s16].f32", "b32", "f32", label="to b32")
rule("cvt.rzi.[u8|s8|s16|u32|s32].f64", "b64", "f64", label="to b64")
rule("cvt.rn.f16.f32", "b32", "f32", label="to b32")
rule("cvt.f32.f16", "b64", "b32", label="of b32, to b64")
rule("cvt" + ROUND + ".ftz.bf16.f32", "bf16", "f32")
rule("cvt.ftz.f32.bf16", "f32", "all16")
rule("cvt" + ROUND + ".ftz.f32.{T}", "f32", "{T}", T="s32 u64")
rule("cvt[.sat|].{T}.f16", "{T}", "all16", T="f32 f64")
rule("cvt.{T}.bf16", "{T}", "all16", T="f32 f64")
rule("cvt[.ftz|][.sat|].f32.f16", "f32", "all16", label="ftz")
rule("cvt" + ROUND + ".bf16.f16", "bf16", "all16")
rule("cvt" + ROUND + ".f16.bf16", "f16", "all16")
rule("cvt" + ROUND + "[.ftz|][.sat|].f16.f32", "f16", "f32")
rule("cvt" + ROUND + ".bf16.f32", "bf16", "f32")
rule("cvt" + ROUND + "[.sat|].f16.f64", "f16", "f64")
rule("cvt" + ROUND + ".bf16.f64", "bf16", "f64")
rule("cvt" + ROUND + "[.ftz|][.sat|].f32.f64", "f32", "f64")
rule("cvt[.ftz|][.sat|].f64.f32", "f64", "f32")
rule("cvt[|.rni|.rzi|.rmi|.rpi][.ftz|][.sat|].f32.f32", "f32", "f32")
rule("cvt[|.rni|.rzi|.rmi|.rpi][.sat|].f64.f64", "f64", "f64")
rule("cvt[|.rni|.rzi|.rmi|.rpi][.sat|].f16.f16", "f16", "all16")
rule("cvt[|.rni|.rzi|.rmi|.rpi].bf16.bf16", "bf16", "all16")
rule("cvt[.rn|.rz][.relu|][.satfinite|].[f16|bf16].f32", "b16", "f32", label="new")
rule("cvt[.rn|.rz][.relu|][.satfinite|].[f16x2|bf16x2].f32", "b32", "f32 f32")
rule("cvt.rna[.satfinite|].tf32.f32", "b32", "f32")
rule("cvt[.rn|.rz][.relu|].tf32.f32", "b32", "f32")
rule("cvt[.rn|.rz].satfinite[.relu|].tf32.f32", "b32", "f32", sm=100)
rule("cvt.rn.satfinite[.relu|].[e4m3x2|e5m2x2].f32", "b16", "f32 f32")
rule("cvt.rn.satfinite[.relu|].[e4m3x2|e5m2x2].f16x2", "b16", "all16x2")
rule("cvt.rn[.relu|].f16x2.[e4m3x2|e5m2x2]", "b32", "all16")
rule("cvt.rs[.relu|][.satfinite|].[f16x2|bf16x2].f32", "b32", "f32 f32 b32", sm=100)
rule("cvt.rs[.relu|].satfinite.[e4m3x4|e5m2x4|e2m3x4|e3m2x4].f32", "b32", "f32 f32 b32",
     "mov.b32 t0, a; shl.b32 t1, b, 1; OP d, {a, b, t1, t0}, c;", sm=100)
rule("cvt.rs[.relu|].satfinite.e2m1x4.f32", "b16", "f32 f32 b32", "mov.b32 t0, a; shl.b32 t1, b, 1; OP d, {a, b, t1, t0}, c;", sm=100)
rule("cvt.rn.satfinite[.relu|].[e2m3x2|e3m2x2].f32", "b16", "f32 f32", sm=100)
rule("cvt.rn[.relu|].f16x2.[e2m3x2|e3m2x2]", "b32", "all16", "and.b16 h0, a, 0x3f3f; OP d, h0;", sm=100)
rule("cvt.rn.satfinite[.relu|].e2m1x2.f32", "b16", "f32 f32", "{ .reg .b8 y; OP y, a, b; cvt.u16.u8 d, y; }", sm=100)
rule("cvt.rn[.relu|].f16x2.e2m1x2", "b32", "all16", "{ .reg .b8 y, z; mov.b16 {y, z}, a; OP d, y; }", sm=100)
rule("cvt[.rz|.rp][.satfinite|].ue8m0x2.f32", "b16", "f32 f32", sm=100)
rule("cvt[.rz|.rp][.satfinite|].ue8m0x2.bf16x2", "b16", "all16x2", sm=100)
rule("cvt.rn.bf16x2.ue8m0x2", "b32", "all16", sm=100)
rule("cvt.pack.sat.[u16|s16].s32", "b32", "s32 s32")
rule("cvt.pack.sat.[u8|s8|u4|s4|u2|s2].s32.b32", "b32", "s32 s32 b32")

# ── Between the lanes of a warp (9.7.9, 9.7.13): neighbours in the input are lanes ──
rule("shfl.sync.[up|down|bfly].b32", "b32", "b32 lane lane", "mov.b32 t0, {B}; OP d|p, a, {K}, t0, -1; selp.b32 e, 1, 0, p;", K="1 2 5 16 31",
     B="0 31 0x1807 0x1f1f")
rule("shfl.sync.idx.b32", "b32", "b32 lane lane", "mov.b32 t0, {B}; OP d|p, a, b, t0, -1; selp.b32 e, 1, 0, p;", B="0 31 0x1807 0x1f1f 0x1c03")
rule("vote.sync.[all|any|uni].pred", "b32", "few", "setp.ne.u32 p, a, 0; OP q, p, -1; selp.b32 d, 1, 0, q;")
rule("vote.sync.[all|any|uni].pred", "b32", "few", "setp.ne.u32 p, a, 0; OP q, !p, -1; selp.b32 d, 1, 0, q;", label="negated")
rule("vote.sync.ballot.b32", "b32", "few", "setp.ne.u32 p, a, 0; OP d, p, -1;")
rule("match.any.sync.b32", "b32", "few", "OP d, a, -1;")
rule("match.any.sync.b64", "b32", "few", "mov.b64 x0, {{a, a}}; OP d, x0, -1;")
rule("match.all.sync.b32", "b32", "few", "OP d|p, a, -1; selp.b32 e, 1, 0, p;")
rule("match.all.sync.b32", "b32", "few", "shr.u32 t0, a, 8; OP d|p, t0, -1; selp.b32 e, 1, 0, p;", label="same")
rule("redux.sync.[add|min|max].{T}", "b32", "b32", "OP d, a, -1;", T="u32 s32")
rule("redux.sync.[and|or|xor].b32", "b32", "b32", "OP d, a, -1;")
rule("redux.sync.[min|max][.abs|][.NaN|].f32", "b32", "f32", "OP d, a, -1;", sm=100)

# ── Atomics of one thread: d is the old value, e the new one ──
for space, address, access in (("global", "ea", "global"), ("shared", "sa", "shared")):
    def atom(pattern, result, operands, arguments, **types):
        bits = WIDTH[result.replace("{T}", types.get("T", "b32").split()[0])]
        rule(f"atom.{space}.{pattern}", result, operands,
             f"st.volatile.{access}.b{bits} [{address}], a; OP d, [{address}], {arguments}; ld.volatile.{access}.b{bits} e, [{address}];", **types)
    atom("[and|or|xor|exch].b32", "b32", "b32 b32", "b")
    atom("[and|or|xor|exch].b64", "b64", "b64 b64", "b")
    atom("cas.b16", "b16", "b16 b16 b16", "b, c")
    atom("cas.b32", "b32", "few few b32", "b, c")
    atom("cas.b64", "b64", "b64 b64 b64", "b, c")
    atom("[add|min|max].[u32|s32]", "b32", "b32 b32", "b")
    atom("[inc|dec].u32", "b32", "b32 b32", "b")
    atom("add.u64", "b64", "b64 b64", "b")
    atom("[min|max].[u64|s64]", "b64", "b64 b64", "b")
    atom("add.f32", "f32", "f32 f32", "b")
    atom("add.f64", "f64", "f64 f64", "b")
    atom("add.noftz.{T}", "{T}", "{T} {T}", "b", T="f16 bf16")
    atom("add.noftz.{T}", "{T}", "{T} {T}", "b", T="f16x2 bf16x2")
for name, kind in (("red.global.add.f32", "f32"), ("red.global.add.f64", "f64"), ("red.global.add.noftz.f16x2", "f16x2"),
                   ("red.global.add.noftz.bf16x2", "bf16x2"), ("red.global.[min|max].s32", "b32")):
    bits = WIDTH[kind]
    rule(name, kind, f"{kind} {kind}", f"st.volatile.global.b{bits} [ea], a; OP [ea], b; membar.gl; ld.volatile.global.b{bits} d, [ea]; mov.b{bits} e, d;")

RED = "mov.b64 x0, {{a, b}}; st.volatile.global.b64 [ea], x0; OP [ea], {{b, a}}; membar.gl; ld.volatile.global.b64 d, [ea]; mov.b64 e, d;"
rule("red.global.add.v2.f32", "b64", "f32 f32", RED)
rule("red.global.[add|min|max].noftz.v2.f16x2", "b64", "f16x2 f16x2", RED)
rule("red.global.[add|min|max].noftz.v2.bf16x2", "b64", "bf16x2 bf16x2", RED)
rule("atom.global.[add|min|max].noftz.v2.f16x2", "b64", "f16x2 f16x2",
     "mov.b64 x0, {{a, b}}; st.volatile.global.b64 [ea], x0; OP {{t0, t1}}, [ea], {{b, a}}; mov.b64 d, {{t0, t1}}; ld.volatile.global.b64 e, [ea];")

# ── Memory: what a narrow load or store makes of its register ──
for kind, bits in (("u8", 32), ("s8", 32), ("u16", 32), ("s16", 32), ("u32", 64), ("s32", 64), ("u8", 64), ("s16", 64), ("b8", 16)):
    source = {32: "b32", 64: "b64", 16: "b16"}[bits]
    rule(f"ld.shared.{kind}", f"b{bits}", source, f"st.shared.b{bits} [sa], a; OP d, [sa];", label=f"to b{bits}")
    rule(f"st.shared.{kind}", f"b{bits}", source, f"st.shared.b{bits} [sa], 0; OP [sa], a; ld.shared.b{bits} d, [sa];", label=f"of b{bits}")
