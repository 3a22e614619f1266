"""`check`: tunables, plans, verdicts, what a candidate may not do, malformed files."""

import unittest

from program import KERNELS, ROOT, Case, line_of

PLAIN = (KERNELS / "plain.cu").read_text()

TUNED = (PLAIN.replace("//! launch  rms<<<T, 256>>>", "//! tune    BLOCK = 96, 128, 256\n//! require BLOCK % 128 == 0\n//! launch  rms<<<T, BLOCK>>>")
         .replace("partial[8]", "partial[BLOCK / 32]").replace("i < 8", "i < BLOCK / 32").replace("i += 256", "i += BLOCK"))

TWO_LAUNCHES = """//! task    nano30b_rmsnorm
//! tune    SPLITS = 3, 4
//! scratch sums : f32[T] zeroed
//! launch  squares<<<(SPLITS, T), 128>>>(x, sums)
//! launch  scale<<<(ceil_div(H, 256), T), 256>>>(x, w, sums, y, eps)
#include <cuda_bf16.h>

extern "C" __global__ void squares(const __nv_bfloat16* x, float* sums) {
    const __nv_bfloat16* part = x + (long long)blockIdx.y * H + blockIdx.x * (H / SPLITS);
    float sum = 0.f;
    for (int i = threadIdx.x; i < H / SPLITS; i += 128) sum += __bfloat162float(part[i]) * __bfloat162float(part[i]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.y], sum);  // <- here
}

extern "C" __global__ void scale(const __nv_bfloat16* x, const __nv_bfloat16* w, const float* sums, __nv_bfloat16* y, float eps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const long long at = (long long)blockIdx.y * H + i;
    if (i < H) y[at] = __float2bfloat16(__bfloat162float(x[at]) * rsqrtf(sums[blockIdx.y] / H + eps) * __bfloat162float(w[i]));
}
"""

# Whichever block draws the first ticket must be block 0, or its row is scaled.
ORDERED = (PLAIN.replace("//! launch  rms<<<T, 256>>>(x, w, y, eps)", 
                         "//! scratch ticket : i32[1] zeroed\n//! launch  rms<<<T, 256>>>(x, w, y, ticket, eps)")
           .replace("y, float eps)", "y, int* ticket, float eps)")
           .replace("    float total = 0.f;", "    __shared__ int drawn;\n    if (threadIdx.x == 0) drawn = atomicAdd(ticket, 1);\n"
                    "    __syncthreads();\n    float total = drawn == 0 && blockIdx.x != 0 ? 1e4f : 0.f;"))

# Whichever warp draws the first ticket must be the first one, or the row is scaled.
IN_TURN = PLAIN.replace("    float total = 0.f;", "    __shared__ int next, drawn;\n    if (threadIdx.x == 0) next = 0;\n    __syncthreads();\n"
                        "    if (threadIdx.x % 32 == 0) {\n        const int ticket = atomicAdd(&next, 1);\n"
                        "        if (threadIdx.x == 0) drawn = ticket;\n    }\n    __syncthreads();\n    float total = drawn == 0 ? 0.f : 1e4f;")


class Check(Case):
    def check(self, text, *words, code=0, axes="T=1", name="kernel.cu"):
        self.write(name, text)
        return self.json("check", name, "--device", "vgpu", *(["--axes", axes] if axes else []), *words, code=code)

    def edited(self, old, new, text=PLAIN):
        self.assertIn(old, text)
        return text.replace(old, new)

    def test_without_axes_the_tasks_own_list_is_verified(self):
        self.write("own.toml", 'family = "f"\nmodel = "m"\n[s]\nop = "rmsnorm"\naxes = { H = 256 }\n'
                   'scalars = { eps = 1e-6 }\nverify = { T = [2, 4] }\nbench = { T = [2] }\n')
        seen = self.check(PLAIN, "--task", "own.toml#s", axes=None)
        self.assertEqual((seen["outcome"], seen["task"]), ("correct", "own.toml#s"))
        self.assertLessEqual({2, 4}, {workload["axes"]["T"] for workload in seen["workloads"]})
        for workload in seen["workloads"]:
            self.assertEqual((workload["outcome"], workload["axes"]["H"]), ("correct", 256))
            self.assertLessEqual(workload["max_error"], workload["bound"])

    def test_the_first_legal_point_is_taken(self):
        seen = self.check(TUNED)
        self.assertEqual((seen["outcome"], seen["tunables"]), ("correct", {"BLOCK": 128}))

    def test_all_takes_every_legal_point(self):
        seen = self.check(TUNED, "--all")
        self.assertEqual([point["tunables"]["BLOCK"] for point in seen["points"]], [128, 256])
        self.assertEqual(len({point["digest"] for point in seen["points"]}), 2)
        wrong = self.check(self.edited("float total = 0.f;", "float total = BLOCK == 256 ? 1e4f : 0.f;", TUNED), "--all", code=3)
        self.assertEqual((wrong["outcome"], [point["outcome"] for point in wrong["points"]]), ("wrong", ["correct", "wrong"]))

    def test_facts_of_the_code_are_shown(self):
        facts = self.check(PLAIN)["facts"]
        loads = [fact for fact in facts["ptx"] if fact["kind"] == "global_load"]
        self.assertEqual({fact["what"] for fact in loads}, {"2 bytes"})
        self.assertIn(line_of(PLAIN, "sum += v * v;") - 1, loads[0]["lines"])
        if facts["sass"] is not None:
            self.assertEqual((facts["sass"]["problem"], set(facts["sass"]["global_loads"])), ("", {"2"}))
        self.assertIn("loads of up to 2 bytes", self.run_program("check", "kernel.cu", "--device", "vgpu", "--axes", "T=1").stdout)

    def test_what_tells_runs_apart_is_refused_with_its_line(self):
        for code, words in (("if (clock64() == 1) sum = 0.f;", "clock64"),
                            ('unsigned long long id; asm volatile("mov.u64 %0, %%gridid;" : "=l"(id)); if (id > 100) sum = 0.f;', "gridid"),
                            ('asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(x));', "L2::evict_last")):
            text = self.edited("    float total = 0.f;", f"    {code}\n    float total = 0.f;")
            seen = self.check(text, code=3)
            self.assertEqual(seen["outcome"], "refused", code)
            self.assertIn(f"kernel.cu:{line_of(text, words)}: ", seen["log"])
        waits = self.edited("    float total = 0.f;", """    __shared__ cuda::barrier<cuda::thread_scope_block> all;
    if (threadIdx.x == 0) init(&all, blockDim.x);
    __syncthreads();
    all.arrive_and_wait();
    float total = 0.f;""").replace("#include <cuda_bf16.h>", "#include <cuda_bf16.h>\n#include <cuda/barrier>")
        self.assertEqual(self.check(waits)["outcome"], "correct")
        # The same loop with a deadline tells what time it is.
        timed = waits.replace("all.arrive_and_wait();", "if (!all.try_wait_for(all.arrive(), cuda::std::chrono::nanoseconds(1))) sum = 0.f;")
        seen = self.check(timed, code=3)
        self.assertEqual(seen["outcome"], "refused", seen["log"])
        self.assertIn(f'kernel.cu:{line_of(timed, "try_wait_for")}: ', seen["log"])

    def test_no_legal_point_is_a_refused_launch(self):
        none = self.edited("BLOCK % 128 == 0", "BLOCK > 256", TUNED)
        self.assertEqual(self.check(none, code=3)["outcome"], "launch_refused")
        self.assertEqual(self.check(none, "--all", code=3)["points"], [])
        self.assertEqual(self.check(none, "--dry-run", code=3)["outcome"], "launch_refused")

    def test_the_digest_is_that_of_source_launch_and_point(self):
        digest = self.check(TUNED)["digest"]
        self.assertRegex(digest, "^[0-9a-f]{64}$")
        for same in [self.edited("BLOCK = 96, 128, 256", "BLOCK = 128", TUNED),
                     "//! idea another\n\n" + TUNED.replace("float sum = 0.f;", "float sum = 0.f;  // a word\n\n")]:
            self.assertEqual(self.check(same)["digest"], digest)
        self.assertNotEqual(self.check(self.edited("96, 128, 256", "256", TUNED))["digest"], digest)
        # A backslash behind a comment takes the next line with it.
        comment, swallowing = (self.check(self.edited("float sum = 0.f;", f"float sum = 0.f;  // a word{end}\n    sum = 0.f;", TUNED))["digest"]
                               for end in ("", " \\"))
        self.assertNotEqual(comment, swallowing)

    def test_zeroed_scratch_is_zeroed_for_every_run(self):
        seen = self.check(TWO_LAUNCHES, axes="T=2")
        self.assertEqual((seen["outcome"], seen["tunables"]), ("correct", {"SPLITS": 3}))
        dirty = self.check(self.edited(" zeroed", "", TWO_LAUNCHES), axes="T=2", code=3)
        report = dirty["reports"][0]
        self.assertEqual((dirty["outcome"], report["check"], report["buffer"], report["kernel"]), ("faulted", "uninitialised", "sums", "squares"))
        self.assertEqual(report["line"], line_of(TWO_LAUNCHES, "<- here"))

    def test_dry_run_prints_the_plan(self):
        plan = self.check(TWO_LAUNCHES, "--dry-run", axes="T=2")
        self.assertEqual([(one["kernel"], one["grid"], one["block"], one["shared_bytes"]) for one in plan["launches"]],
                         [("squares", [3, 2, 1], [128, 1, 1], 0), ("scale", [11, 2, 1], [256, 1, 1], 0)])
        self.assertEqual([[argument["name"] for argument in one["arguments"]] for one in plan["launches"]],
                         [["x", "sums"], ["x", "w", "sums", "y", "eps"]])
        (scratch,) = plan["scratch"]
        self.assertEqual((scratch["name"], scratch["dtype"], scratch["shape"], scratch["zeroed"]), ("sums", "f32", [2], True))

    def test_dry_run_prints_values_in_their_type(self):
        plan = self.json("check", ROOT / "ops/rmsnorm/seeds/warp.cu", "--task", "nano30b_rmsnorm", "--axes", "T=3", "--dry-run")
        eps, tokens = plan["launches"][0]["arguments"][-2:]
        self.assertEqual((eps["name"], eps["dtype"], round(eps["value"], 9)), ("eps", "f32", 1e-5))
        self.assertEqual((tokens["name"], tokens["dtype"], repr(tokens["value"])), ("T", "i32", "3"))

    def test_launches_that_cannot_be(self):
        for new, words in [("rms<<<T, 1025>>>", ["1025"]), ("rms<<<T - 1, 256>>>", ["empty"]), ("rms<<<T, 256, 300000>>>", ["300000"]),
                           ("rms<<<(T, 65536), 256>>>", ["65536"]), ("rsm<<<T, 256>>>", ["rsm", "did you mean rms?"])]:
            seen = self.check(self.edited("rms<<<T, 256>>>", new), code=3)
            self.assertEqual(seen["outcome"], "launch_refused", new)
            for word in words:
                self.assertIn(word, seen["log"])
        huge = self.check("//! scratch s : f32[4611686018427387904, 8]\n" + self.edited("y, eps)\n", "y, eps, s)\n"), code=3)
        self.assertEqual(huge["outcome"], "launch_refused")
        self.assertIn("kernel.cu:1:21: the scratch s", huge["log"])
        for arguments in ["(x, w, y)", "(x, w, y, 3)", "(x, w, eps, y)"]:
            self.assertEqual(self.check(self.edited("(x, w, y, eps)\n", arguments + "\n"), code=3)["outcome"], "launch_refused", arguments)

    def test_what_does_not_build_names_its_line(self):
        text = self.edited("float total = 0.f;", "float total = nothing;  // <- here")
        seen = self.check(text, code=3)
        self.assertEqual((seen["outcome"], seen["reports"]), ("build_failed", []))
        self.assertIn(f'kernel.cu({line_of(text, "<- here")})', seen["log"])
        self.assertIn("nothing", seen["log"])

    def test_what_a_candidate_may_not_do(self):
        for code, word in [("static void host() {}", "host function"), ("int count = 3;", "host variable"),
                           ("__device__ int count;", "device memory"),
                           ("__managed__ int count;", "device memory"), ('#include "/etc/passwd"', "/etc/passwd"),
                           ("__global__ void child() {}\n__device__ void start() { child<<<1, 1>>>(); }", "launch from the device")]:
            seen = self.check(PLAIN + code + "\n", code=3)
            self.assertEqual(seen["outcome"], "refused", code)
            self.assertIn(word, seen["log"])
        in_heap = self.edited("float total = 0.f;", "float total = 0.f; if (threadIdx.x == 0) *static_cast<int*>(malloc(4)) = 1;")
        seen = self.check(in_heap, code=3)
        self.assertEqual(seen["outcome"], "refused")
        self.assertIn("heap", seen["log"])
        in_ptx = self.edited("float total = 0.f;", 'float total = 0.f; asm volatile("{ .global .u32 g; st.global.u32 [g], 1; }");')
        self.assertEqual(self.check(in_ptx, code=3)["outcome"], "refused")

    def test_constant_tables_are_fine(self):
        table = "__constant__ float one[1] = {1.f};\n__device__ const float two[2] = {1.f, 1.f};\n"
        text = self.edited('extern "C"', table + 'extern "C"').replace("float sum = 0.f;", "float sum = one[0] - two[threadIdx.x % 2];")
        self.assertEqual(self.check(text)["outcome"], "correct")

    def test_malformed_directives(self):
        for old, new, place, words in [("//! launch", "//! lunch", "3:5", ["did you mean launch?"]),
                                       ("rms<<<T, 256>>>", "rms<<<T, 256>>", "3:", [">>>"]),
                                       ("rms<<<T,", "rms<<<TT,", "3:19", ["TT"]),
                                       ("(x, w, y, eps)\n", "(x, w, y, esp)\n", "3:", ["esp", "did you mean eps?"]),
                                       ("//! idea ", "//! tune BLOCK = 1, x\n//! idea ", "2:21", ["x"]),
                                       ("//! idea ", "//! scratch a : f23[T]\n//! idea ", "2:", ["f23", "did you mean f32?"]),
                                       ("//! idea ", "//! require H %% 2\n//! idea ", "2:", []),
                                       ("//! task    nano30b_rmsnorm", "//! task", "1:", [])]:
            self.write("kernel.cu", self.edited(old, new))
            line = self.refused("check", "kernel.cu", "--task", "nano30b_rmsnorm", code=1, saying=words)
            self.assertRegex(line, rf"kernel\.cu:{place}")
            self.assertRegex(line, r"kernel\.cu:\d+:\d+: ")

    def test_what_is_missing(self):
        self.refused("check", "absent.cu", "--task", "nano30b_rmsnorm", code=1, saying=["absent.cu"])
        self.write("kernel.cu", PLAIN.replace("//! task    nano30b_rmsnorm\n", ""))
        self.refused("check", "kernel.cu", code=2, saying=["--task"])
        self.refused("check", "kernel.cu", "--task", "nano30b_rmsnom", code=2, saying=["did you mean nano30b_rmsnorm?"])
        self.refused("check", "kernel.cu", "--task", "nano30b_rmsnorm", "--axes", "Q=3", code=2, saying=["Q"])
        self.refused("check", "kernel.cu", "--task", "nano30b_rmsnorm", "--device", "cuda:99", code=1, saying=["cuda"])

    def test_schedules(self):
        seen = self.check(PLAIN, "--schedules", 4, axes="T=2")
        self.assertEqual((seen["outcome"], seen["schedules"]), ("correct", {"run": 4, "different": 0, "seed": None, "bitwise": True}))
        seen = self.check(ORDERED, "--schedules", 8, axes="T=4", code=3)
        self.assertEqual((seen["outcome"], seen["reports"]), ("wrong", []))
        self.assertEqual(self.check(IN_TURN)["outcome"], "correct")
        seen = self.check(IN_TURN, "--schedules", 8, code=3)
        self.assertEqual((seen["outcome"], seen["reports"]), ("wrong", []))
        self.assertGreater(seen["schedules"]["different"], 0)
        self.assertRegex(seen["log"], r"another order of warps and blocks \(seed \d\) changes the result: element \d+ of y is ")
        # Sums of floats by atomics may come out otherwise in the last bits: they are held to the tolerance instead.
        seen = self.check(TWO_LAUNCHES, "--schedules", 3, axes="T=2")
        self.assertEqual((seen["outcome"], seen["schedules"]["bitwise"]), ("correct", False))
        self.refused("check", "kernel.cu", "--schedules", 0, code=2, saying=["--schedules"])

    def test_a_profile_comes_with_the_verdict(self):
        seen = self.check(PLAIN, "--gpu", "l4", axes="T=2")
        launch = seen["occupancy"][0]
        self.assertEqual((launch["kernel"], launch["blocks"], launch["threads"]), ("rms", 2, 256))
        self.assertIn("L4", launch["gpu"])
        self.assertEqual(launch["most_warps_per_sm"], 48)
        self.assertGreater(launch["registers"], 0)
        self.assertGreater(seen["estimate"], 0)
        self.assertIn("grid", [advice["kind"] for advice in seen["advice"]])
        self.assertEqual(len(seen["counters"]["launches"]), 1)
        story = self.run_program("check", "kernel.cu", "--device", "vgpu", "--axes", "T=2").stdout
        for words in ("occupancy", "hot lines", "a number to rank kernels of one task by, not a time", "2 blocks for 132 SMs"):
            self.assertIn(words, story)
        self.assertNotIn("\033", story)
        self.write("tuned.cu", TUNED)
        story = self.run_program("check", "tuned.cu", "--device", "vgpu", "--axes", "T=2", "--all").stdout
        self.assertRegex(story, r"outcome +estimate +registers +occupancy\n(  correct +\d+ +\d+ +\d+ %  BLOCK=(128|256)\n){2}\n")
        self.refused("check", "kernel.cu", "--gpu", "l40", code=2, saying=["there is no GPU l40", "did you mean"])

    def test_triton_kernels(self):
        if not any(tool["name"] == "Triton" and tool["state"] == "ok" for tool in self.json("inspect-env")):
            self.skipTest("there is no Triton here")
        text = (ROOT / "ops/rmsnorm/seeds/triton.py").read_text()
        words = ["--task", "nano30b_rmsnorm"]
        self.assertEqual(self.check(text, *words, axes="T=2", name="kernel.py")["outcome"], "correct")
        wrong = self.check(self.edited("/ H + eps", "/ B + eps", text), *words, axes="T=2", code=3, name="kernel.py")
        self.assertEqual((wrong["outcome"], wrong["reports"]), ("wrong", []))
        outside = self.edited("tl.load(w + i, mask=inside, other=0.0)", "tl.load(w + i)", text)
        faulted = self.check(outside, *words, axes="T=2", code=3, name="kernel.py")
        self.assertEqual((faulted["outcome"], faulted["reports"][0]["check"], faulted["reports"][0]["buffer"]), ("faulted", "out_of_bounds", "w"))
        self.assertEqual(faulted["reports"][0]["line"], line_of(outside, "tl.load(w + i)"))
        failed = self.check(self.edited("tl.rsqrt", "tl.no_such_function", text), *words, code=3, name="kernel.py")
        self.assertEqual(failed["outcome"], "build_failed")
        self.assertIn("no_such_function", failed["log"])


if __name__ == "__main__":
    unittest.main()
