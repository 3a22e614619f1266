"""`inspect-env`, `presets`, and a machine that lacks a compiler."""

import shutil
import subprocess
import unittest

from program import KERNELS, PROGRAM, ROOT, Case

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry iota(.param .u64 y)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
"""


class Environment(Case):
    def test_every_part_has_a_state_and_advice(self):
        tools = self.json("inspect-env")
        for tool in tools:
            self.assertEqual([key for key in ("name", "state", "version", "path", "advice") if key not in tool], [])
            self.assertIn(tool["state"], ("ok", "missing", "unusable"))
            if tool["state"] != "ok":
                self.assertNotEqual(tool["advice"], "", tool["name"])
        by_name = {tool["name"]: tool for tool in tools}
        for name in ("system", "NVRTC", "CUDA headers", "ptxas", "Triton", "DuckDB"):
            self.assertIn(name, by_name)
        self.assertTrue(any("CUDA driver" in name for name in by_name) and any("GPU" in name for name in by_name))
        self.assertTrue(by_name["NVRTC"]["version"].startswith("13."))
        text = self.run_program("inspect-env").stdout
        self.assertTrue(all(name in text for name in by_name))

    def test_presets(self):
        presets = self.json("presets")
        for preset in presets:
            self.assertIn(preset["kind"], ("cli", "http", "mailbox", "replay", "offline"))
            self.assertTrue(preset["usable"] or preset["why"], preset["name"])
        self.assertEqual(sum(preset["default"] for preset in presets), 1)
        offline = next(preset for preset in presets if preset["name"] == "offline")
        self.assertEqual((offline["kind"], offline["usable"]), ("offline", True))
        self.refused("presets", "--preset", "ofline", "--check", code=2, saying=["did you mean offline?"])

    def test_a_home_that_is_none_is_named(self):
        self.refused("tasks", code=1, saying=["RECUDA_HOME", str(self.folder)], env={"RECUDA_HOME": str(self.folder)})

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(PROGRAM), "tasks", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, env=self.environment())
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^cuda-rlm: error: [^\n]+\n$")


class WithoutCompilers(Case):
    """The program in a folder with a catalogue and no .deps, on a machine without a toolkit."""

    def setUp(self):
        super().setUp()
        for name in ("ops", "tasks", "presets"):
            shutil.copytree(ROOT / name, self.folder / name)
        self.program = self.folder / "cuda-rlm"
        shutil.copy(PROGRAM, self.program)
        self.bare = {"CUDA_HOME": str(self.folder / "nothing"), "RECUDA_CACHE": str(self.folder / "cache")}
        if "ok        NVRTC" in self.run_bare("inspect-env").stdout:
            self.skipTest("this machine has a CUDA toolkit of its own")

    def run_bare(self, *words):
        return subprocess.run([str(self.program), *map(str, words)], cwd=self.folder, env=self.environment(**self.bare),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def test_what_needs_one_ends_with_one_line(self):
        for words in (["check", KERNELS / "plain.cu", "--axes", "T=1"], ["exec", KERNELS / "plain.cu", "--launch", "rms<<<1, 256>>>(1)",
                       "--device", "vgpu"]):
            done = self.run_bare(*words)
            errors = [line for line in done.stderr.splitlines() if line.startswith("cuda-rlm: error: ")]
            self.assertEqual((done.returncode, len(errors), done.stdout), (1, 1, ""), done.stderr)
            self.assertIn("NVRTC", errors[0])
            self.assertIn("./setup", errors[0])

    def test_ptx_runs_all_the_same(self):
        self.write("iota.ptx", PTX)
        done = self.run_bare("exec", "iota.ptx", "--launch", "iota<<<1, 4>>>(y)", "--buffer", "y:i32[4]=uninit", "--print", "y", "--device", "vgpu")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("y = [0,1,2,3]", done.stdout)

    def test_plans_need_none(self):
        self.assertEqual(self.run_bare("check", KERNELS / "plain.cu", "--axes", "T=1", "--dry-run").returncode, 0)


if __name__ == "__main__":
    unittest.main()
