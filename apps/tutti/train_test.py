#!/usr/bin/python3
"""Training from the command line to the result, with a rank that is killed on the way.

  train_test.py TUTTI
"""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TUTTI = None
TINY = ["--size", "tiny", "--ranks", "2"]


class TrainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = Path(cls.folder.name)
        cls.environment = {**os.environ, "XDG_CACHE_HOME": str(cls.base / "cache"), "TUTTI_TUNING_CACHE": "none"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def tutti(self, *arguments, code=0):
        done = subprocess.run([TUTTI, *map(str, arguments)], env=self.environment, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def run_of(self, output):
        return Path(output.split("run: ")[1].split("\n")[0])

    def test_from_events_to_result(self):
        output = self.tutti("train", "hep", *TINY, "--set", f"runs={self.base}/runs", "--set", "epochs=12", "--set", "learning_rate=0.01")
        self.assertIn("At the same background the network keeps", output)
        run = self.run_of(output)
        rows = list(csv.DictReader((run / "metrics.csv").open()))
        losses = [float(row["loss"]) for row in rows]
        self.assertLess(sum(losses[-9:]), 0.95 * sum(losses[:9]))
        for name in ("config.toml", "result.json", "plots/loss.svg", "plots/roc.svg", "checkpoints/best.ckpt"):
            self.assertTrue((run / name).exists(), name)
        self.assertEqual(json.loads((run / "result.json").read_text())["ranks"], 2)
        self.assertIn(run.name, self.tutti("runs", self.base / "runs"))
        self.assertIn("false_rate", self.tutti("evaluate", run, "--ranks", "1"))
        data = next((self.base / "cache/tutti").iterdir()) / "test-000.h5"
        self.tutti("predict", run, data, "-o", self.base / "scores.csv")
        scores = (self.base / "scores.csv").read_text().split()
        self.assertEqual(scores[0], "signal")
        self.assertTrue(all(0 <= float(score) <= 1 for score in scores[1:]))
        self.tutti("export", run, "-o", self.base / "model.pt")
        self.assertGreater((self.base / "model.pt").stat().st_size, 1000)

    def test_killed_and_resumed_is_as_if_never_killed(self):
        settings = [*TINY, "--set", f"runs={self.base}/killed", "--set", "checkpoint_steps=4", "--set", "epochs=6"]
        whole = self.run_of(self.tutti("train", "hep", *settings))
        process = subprocess.Popen([TUTTI, "train", "hep", *settings], env=self.environment, stdout=subprocess.PIPE, text=True)
        run = self.run_of(process.stdout.readline())
        deadline = time.monotonic() + 100
        while len(list(run.glob("checkpoints/step-*.ckpt"))) < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        ranks = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        os.kill(int(ranks[1]), signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.tutti("train", "--resume", run, "--ranks", "2")
        last = sorted(path.name for path in whole.glob("checkpoints/step-*.ckpt"))[-1]
        self.assertEqual((whole / "checkpoints" / last).read_bytes(), (run / "checkpoints" / last).read_bytes())
        steps = [row["step"] for row in csv.DictReader((run / "metrics.csv").open())]
        self.assertEqual(steps, [str(i + 1) for i in range(len(steps))])

    def test_mistakes_are_told_once(self):
        self.assertIn("DDL-1-85", self.tutti("train", "nothing", code=2))
        self.assertIn("learning_rate", self.tutti("train", "hep", "--set", "learning_rat=1", code=2))


if __name__ == "__main__":
    TUTTI = sys.argv.pop(1)
    unittest.main()
