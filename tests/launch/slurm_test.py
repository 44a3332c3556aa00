#!/usr/bin/python3
"""ddlrun in jobs of a Slurm with one node and several slots, started for this test.

  slurm_test.py DDLRUN      exit code 77 (skipped) with a message if Slurm is missing or cannot be started
"""

import sys
import unittest
from pathlib import Path

import slurm
from ddlrun import Run

DDLRUN = str(Path(sys.argv.pop(1)).resolve())
SHOW = 'echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, job $SLURM_JOB_ID"'


class UnderSlurm(unittest.TestCase):
    def start(self, tasks, *arguments):
        run = Run(DDLRUN, *arguments, before=["salloc", "--quiet", "-n", str(tasks)], environment=slurm.run_tests.slurm.environment)
        self.addCleanup(run.close)
        return run

    def check_ranks(self, run, count):
        run.wait()
        self.assertEqual(run.code, 0, run.errors)
        self.assertEqual([line.rsplit(",", 1)[0] for line in run.lines], [f"{rank} of {count}, {rank} of {count}" for rank in range(count)])
        self.assertNotIn("job \n", run.output)
        return run

    def test_ranks_are_those_of_the_allocation(self):
        for kind in ("auto", "srun"):
            with self.subTest(mpi=kind):
                run = self.check_ranks(self.start(3, "--mpi", kind, "--oversubscribe", "sh", "-c", SHOW), 3)
                self.assertIn("+ srun --ntasks=3" if kind == "srun" else "+ mpirun", run.errors)

    def test_fewer_ranks_than_slots(self):
        self.check_ranks(self.start(slurm.SLOTS, "-n", 1, "sh", "-c", SHOW), 1)

    def test_a_failure_under_srun_is_named(self):
        run = self.start(2, "--mpi", "srun", "--oversubscribe", "sh", "-c", "test $RANK = 1 || exec sleep 1000; echo bye; exit 9").wait()
        self.assertRegex(run.errors, r"DDL-3-40 Rank 1 on \S+ ended with exit code 9\. Its last lines \(.*\):\n    bye\n")
        self.assertEqual(run.code, 9)
        self.assertEqual(run.left_behind(), [])

    def test_check_mentions_slurm(self):
        run = self.start(2, "--check", "--oversubscribe").wait()
        self.assertIn("1 host from Slurm", run.output)
        self.assertEqual(run.code, 0, run.output)


if __name__ == "__main__":
    slurm.run_tests(("salloc",))
