#!/usr/bin/python3
"""`tutti tune` with each trial as a job of a Slurm that is started for this test.

  tune_slurm_test.py TUTTI      exit code 77 (skipped) with a message if Slurm is missing or cannot be started
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import slurm

TUTTI = str(Path(sys.argv.pop(1)).resolve())


class TrialsAsJobs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.study = Path(folder.name) / "study"

    def tune(self, *words):
        environment = {**os.environ, **slurm.run_tests.slurm.environment}
        return subprocess.run([TUTTI, "tune", *words], capture_output=True, text=True, timeout=120, env=environment)

    def trials(self):
        return json.loads(self.tune("export", str(self.study)).stdout)["trials"]

    def search(self, script, *words):
        return self.tune("--space", "x=0.0..1.0", "--metric", "loss", "--executor", "slurm", "--dir", str(self.study), *words,
                         "--", "sh", "-c", script)

    def test_each_trial_is_a_job(self):
        done = self.search('echo "loss={x}"; echo $SLURM_JOB_ID > job', "--trials", "4", "--parallel", "2")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertEqual([trial["state"] for trial in self.trials()], ["complete"] * 4)
        jobs = {(self.study / "trials" / f"{number:04}" / "job").read_text() for number in range(4)}
        self.assertEqual(len(jobs), 4)

    def test_options_of_srun_and_failures(self):
        done = self.search("echo loss={x}; test $SLURM_JOB_NAME = search || exit 5", "--trials", "2", "--retries", "0",
                           "--executor-options", "--job-name=search")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertEqual([trial["state"] for trial in self.trials()], ["complete"] * 2)

    def test_jobs_that_are_refused_stop_the_search(self):
        done = self.search("echo loss=1", "--trials", "5", "--retries", "0", "--executor-options", "--partition=none")
        self.assertEqual(done.returncode, 2)
        self.assertIn("DDL-10-35", done.stderr)


if __name__ == "__main__":
    slurm.run_tests(("srun",))
