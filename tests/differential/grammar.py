"""How the forms of the differential suite are written: rules_*.py call `rule`, forms.py expands
what they said.

A rule is (pattern, result, operands, body). In a pattern `[x|y|]` is one of x, y or nothing, and `{T}` a type that the
rule's keywords list; result and operands may use `{T}` as well. A result is a register type; operands are domains
(inputs.py). Without a body the statement is `PATTERN d, a, b, c;`. A body is PTX in which `OP` stands for the expanded
opcode; it may use p, q (predicates), h0-h3 (.b16), t0-t5 (.b32), x0-x3 (.b64), and e, a second result beside d.
Keywords: `sm` the first architecture that has it (the H200 is 90), `note` a word that run.py understands:

  approx     compared in ulp with the exact value, not bit by bit
  undefined  the ISA leaves some results open; differences are listed and not counted
  expansion  ptxas makes several instructions of it that do not do what the ISA says; listed and not counted

Source: PTX ISA 9.0, chapter 9.7.
"""
RULES = []
INTS = "u16 s16 u32 s32 u64 s64"
ALL_INTS = "u8 s8 u16 s16 u32 s32 u64 s64"
ROUND = "[.rn|.rz|.rm|.rp]"
HALVES, BFLOATS = "f16 f16x2", "bf16 bf16x2"
# The domain of a type's operands, and the width of its registers.
DOMAIN = {"u8": "i16", "s8": "i16", "u16": "i16", "s16": "i16", "b16": "i16", "u32": "i32", "s32": "i32", "b32": "i32", "u64": "i64",
          "s64": "i64", "b64": "i64", "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "f16x2": "f16x2", "bf16x2": "bf16x2",
          "f32x2": "f32x2", "u16x2": "i16x2", "s16x2": "i16x2"}
WIDTH = {"u8": 16, "s8": 16, "u16": 16, "s16": 16, "b16": 16, "f16": 16, "bf16": 16, "u32": 32, "s32": 32, "b32": 32, "f32": 32,
         "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "u64": 64, "s64": 64, "b64": 64, "f64": 64, "f32x2": 64}


def rule(pattern, result, operands, body=None, *, sm=90, note="", exact="", label="", **types):
    RULES.append((pattern, result, operands, body, sm, note, exact, label, types))
