"""Operands that only some instructions take are refused by the others, not passed over: `!p` once counted as `p` in and.pred, and a
selector or a minus sign must not be lost where no video instruction stands."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import Case  # noqa: E402

KERNEL = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{
    .reg .pred p, q, r;
    .reg .b32 a, d;
    .reg .b64 at, w;
    ld.param.u64 at, [out];
    mov.u32 a, %tid.x;
    setp.lt.u32 p, a, 2;
    setp.lt.u32 q, a, 3;
    mov.u32 d, 0;
    {statement}
    st.global.u32 [at], d;
    ret;
}}
"""


class SelectedOperands(Case):
    def outcome(self, statement, code):
        self.write("k.ptx", KERNEL.format(statement=statement))
        return self.json("exec", "k.ptx", "--launch", "k<<<1, 1>>>(out)", "--buffer", "out:u32[1]=uninit", "--print", "out", "--device",
                         "vgpu", code=code)

    def test_negated_predicates_count(self):
        for statement, wanted in (("and.pred r, !p, q;", 0), ("and.pred r, p, q;", 1), ("xor.pred r, p, !q;", 1), ("not.pred r, !p;", 1)):
            seen = self.outcome(statement + " selp.u32 d, 1, 0, r;", code=0)
            self.assertEqual(seen["buffers"]["out"], [wanted], statement)

    def test_others_refuse_selectors_and_signs(self):
        for statement in ("add.s32 d, -a, a;", "add.s32 d, a.b0, a;", "mov.b64 w, {a.h1, a};", "xor.b32 d.b0, a, a;"):
            seen = self.outcome(statement, code=3)
            self.assertEqual(seen["outcome"], "unsupported", statement)
            self.assertIn("a selected or negated operand", seen["log"])

    def test_video_instructions_take_them(self):
        self.assertEqual(self.outcome("mov.u32 a, 0x80; vadd.s32.s32.s32 d, a.b0, a.b0;", code=0)["buffers"]["out"], [0xffffff00])


if __name__ == "__main__":
    unittest.main()
