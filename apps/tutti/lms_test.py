#!/usr/bin/python3
"""Tests `tutti lms` on traces of a chain of layers and on small networks.

  lms_test.py TUTTI
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TUTTI = sys.argv.pop()
WORKER = Path(TUTTI).parents[1] / "libexec/tutti/lms_step"
MIB = 1 << 20


def chain(layers, block_bytes, seconds):
    """Returns a trace: each layer allocates an activation, which the backward pass needs in reverse order."""
    blocks = [{"bytes": MIB, "persistent": True}]
    operators = []
    pending = []

    def run(name, uses, allocates=None):
        nonlocal pending
        start = seconds * len(operators)
        operator = {"name": name, "start": start, "end": seconds * (len(operators) + 1), "uses": sorted(uses), "hash": len(operators)}
        if pending:
            operator["events_before"], pending = pending, []
        if allocates is not None:
            blocks.append({"bytes": allocates})
            operator["events"] = [{"allocate": len(blocks) - 1}]
        operators.append(operator)
        return len(blocks) - 1

    activations = [run("conv", [0], block_bytes)]
    for _ in range(layers - 1):
        activations.append(run("conv", [0, activations[-1]], block_bytes))
    gradient = None
    for activation in reversed(activations):
        uses = [0, activation] + ([gradient] if gradient is not None else [])
        frees = [activation] + ([gradient] if gradient is not None else [])
        gradient = run("conv_backward", uses, block_bytes)
        pending = [{"free": block} for block in frees]
    run("sgd", [0, gradient])
    return {"version": 2, "duration": seconds * len(operators), "blocks": blocks, "recipes": [], "operators": operators}


class Simulate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        for size in (2, 4):
            text = json.dumps(chain(32, size * MIB, size * 0.01))
            (self.path / f"trace{size}.json").write_text(text, encoding="utf-8")

    def simulate(self, *arguments):
        if "--write-bandwidth" not in arguments:
            arguments += ("--write-bandwidth", "1GB", "--read-bandwidth", "1GB")
        return subprocess.run([TUTTI, "lms", "simulate", *arguments], cwd=self.path, capture_output=True, text=True, check=False)

    def test_report_plot_and_plan(self):
        done = self.simulate("--trace", "trace2.json", "--budget", "24MiB", "--json", "report.json", "--plot", "memory.svg",
                             "--plan", "plan.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("All transfers overlap with computation.", done.stdout)
        report = json.loads((self.path / "report.json").read_text(encoding="utf-8"))
        self.assertTrue(report["feasible"])
        self.assertLessEqual(report["peak"], 24 * MIB)
        self.assertEqual(report["peak_without"], (2 * 33 + 1) * MIB)
        self.assertEqual(report["unplanned_reads"], 0)
        self.assertIn("</svg>", (self.path / "memory.svg").read_text(encoding="utf-8"))
        plan = json.loads((self.path / "plan.json").read_text(encoding="utf-8"))
        self.assertEqual(len(plan["decisions"]), report["swapped"] + report["recomputed"])

    def test_slow_disk(self):
        done = self.simulate("--trace", "trace2.json", "--budget", "16MiB", "--write-bandwidth", "40MB", "--read-bandwidth",
                             "40MB", "--set", "mode=swap")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Disk-bound by ", done.stdout)
        self.assertIn("more memory would remove it", done.stdout)
        self.simulate("--trace", "trace2.json", "--budget", "16MiB", "--set", "autotune_plot=tuned.svg")
        self.assertTrue((self.path / "tuned.svg").exists())

    def test_budget_too_small(self):
        done = self.simulate("--trace", "trace2.json", "--budget", "4MiB")
        self.assertEqual(done.returncode, 1)
        self.assertIn("(conv_backward) needs 7.00 MiB. Use at least 7MiB.", done.stdout)

    def test_other_sizes(self):
        done = self.simulate("--trace", "trace2.json", "trace4.json", "--sizes", "2,4", "--size", "10", "--budget", "302MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("peak without LMS       331 MiB", done.stdout)
        # Three blocks and the weight with LMS, 33 without.
        self.assertIn("largest input          9 elements without LMS, 100 with LMS (11.1x)", done.stdout)

    def test_errors(self):
        (self.path / "bad.json").write_text("{", encoding="utf-8")
        for arguments, code in (([], "DDL-1-03"), (["--trace", "absent.json"], "DDL-7-91"), (["--trace", "bad.json"], "DDL-5-61"),
                                (["--trace", "trace2.json", "trace4.json"], "DDL-1-03"),
                                (["--trace", "trace2.json", "--set", "sync_mode=9"], "DDL-1-03"),
                                (["--trace", "trace2.json", "--set", "colour=red"], "DDL-1-04")):
            done = self.simulate(*arguments, "--budget", "1GiB")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(code, done.stderr)

    def peak(self, *arguments):
        """Returns the predicted peak without LMS."""
        done = self.simulate(*arguments, "--budget", "1TiB", "--json", "case.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.path / "case.json").read_text(encoding="utf-8"))["peak_without"]

    def test_predicted_peaks_are_at_most_three_percent_above_recorded_ones(self):
        for case, size_option, sizes in ("climate-segment", "rows", (64, 96, 128)), ("hep", "image", (96, 128, 160)):
            options = ["batch=1", "precision=f32"]
            predicted = self.peak("--case", case, *[f"--option={option}" for option in options], "--recorded",
                                  f"{sizes[0]},{sizes[1]}", "--size", str(sizes[2]))
            subprocess.run([WORKER, "trace", "trace.json", "case", case, *options, f"{size_option}={sizes[2]}"], cwd=self.path, check=True)
            recorded = self.peak("--trace", "trace.json")
            self.assertGreaterEqual(predicted, recorded, case)
            self.assertLessEqual(predicted, 1.03 * recorded, case)

    def test_smaller_networks_predict_no_larger_ones(self):
        done = self.simulate("--case", "climate-segment", "--size", "768", "--budget", "4GiB")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Name two sizes from 384 with --recorded", done.stderr)

    def test_script(self):
        program = "import sys, torch; n = torch.nn; torch.jit.script(n.Sequential(" \
                  "*[n.Conv2d(3 if i == 0 else 8, 8, 3, padding=1) for i in range(4)])).save(sys.argv[1])"
        subprocess.run([sys.executable, "-c", program, self.path / "network.pt"], check=True)
        done = self.simulate("--script", "network.pt", "--shape", "2,3,64,64", "--budget", "2MiB", "--json", "script.json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads((self.path / "script.json").read_text(encoding="utf-8"))
        self.assertGreater(report["peak_without"], 4 * 2 * 8 * 64 * 64 * 4)  # four activations
        self.assertLessEqual(report["peak"], 2 * MIB)
        for shape, code in (["--shape", "2,4,64,64"], "DDL-8-73"), ([], "DDL-1-03"):
            done = self.simulate("--script", "network.pt", *shape, "--budget", "2MiB")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(code, done.stderr)


class Steps(unittest.TestCase):
    def run_steps(self, budget, *network):
        done = subprocess.run([WORKER, "run", budget, "3", "case", *network], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def test_custom_kernels_announce_the_tensors_that_they_read(self):
        for budget, *network in ["42MB", "climate-segment", "rows=96", "batch=1"], ["10MB", "cosmoflow", "volume=32"]:
            expected, steps = self.run_steps("0", *network), self.run_steps(budget, *network)
            self.assertEqual([steps["losses"], steps["gradients"]], [expected["losses"], expected["gradients"]], network)
            self.assertEqual(steps["all_faults"], 0, network)
            self.assertGreater(steps["all_read"], 0, network)


if __name__ == "__main__":
    unittest.main()
