"""Every seed of the catalogue is right on the virtual GPU."""

import concurrent.futures
import json
import subprocess
import unittest

from program import PROGRAM, ROOT, Case

# Vocabularies and weights are what the virtual GPU would spend its time on; a seed's loops are the same over fewer.
SMALLER = {"V": 8192}
SMALLER_OF_OP = {"linear": {"N": 48}}


def task_text(task):
    """A task like this one, at T = 1, 3 and 8."""
    def table(values):
        return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items()) + " }"
    axes = {**{name: SMALLER.get(name, value) for name, value in task["axes"].items()}, **SMALLER_OF_OP.get(task["op"], {})}
    lines = ['family = "seeds"', 'model = "none"', "[one]", f'op = "{task["op"]}"', f"axes = {table(axes)}",
             "verify = { T = [1, 3, 8] }", "bench = { T = [1] }"]
    for key in ("scalars", "options"):
        if task[key]:
            lines.append(f"{key} = {table(task[key])}")
    return "\n".join(lines) + "\n"


class Seeds(Case):
    def verdict(self, words):
        """What is not right of one check, else nothing."""
        done = subprocess.run([str(PROGRAM), "check", *map(str, words), "--device", "vgpu", "--json"], cwd=self.folder,
                              env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
        if done.returncode not in (0, 3):
            return done.stderr[-400:]
        seen = json.loads(done.stdout)
        if done.returncode == 0 and seen["outcome"] == "correct":
            self.tokens.update(workload["axes"]["T"] for workload in seen["workloads"])
            return None
        reports = [(report["check"], report["line"], report["message"]) for report in seen["reports"][:2]]
        details = [workload["detail"] for workload in seen["workloads"] if workload["outcome"] != "correct"][:2]
        return f'{seen["outcome"]} {seen.get("tunables")} {reports} {details} {seen["log"][:300]}'

    def expect_correct(self, checks):
        """Two at a time: each check runs its blocks on all cores already."""
        self.tokens = set()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for words, bad in zip(checks, pool.map(self.verdict, checks)):
                with self.subTest(check=" ".join(map(str, words))):
                    self.assertIsNone(bad)

    def test_every_seed_of_every_op(self):
        checks = []
        tasks = {task["op"]: task["name"] for task in reversed(self.json("tasks"))}
        for op, name in tasks.items():
            task = self.json("tasks", name)
            self.write(f"{op}.toml", task_text(task))
            checks += [(ROOT / file, "--task", f"{op}.toml#one") for file in task["kernels"]]
        self.assertEqual(set(tasks), {folder.name for folder in (ROOT / "ops").iterdir()})
        self.assertGreaterEqual(len(checks), 2 * len(tasks))
        self.expect_correct(checks)
        self.assertLessEqual({1, 3, 8}, self.tokens)

    def test_the_plain_seed_of_every_task(self):
        def axes(task):
            smaller = {"T": 1 if "V" in task["axes"] else 3, **SMALLER_OF_OP.get(task["op"], {})}
            return ",".join(f"{name}={value}" for name, value in smaller.items())

        self.expect_correct([(ROOT / task["kernels"][0], "--task", task["name"], "--axes", axes(task)) for task in self.json("tasks")])


if __name__ == "__main__":
    unittest.main()
