#!/usr/bin/python3
"""Fault injection with real processes: a failing rank is reported correctly on all others, and no rank hangs.

  faults_test.py FAULT_RANK                         as plain processes
  faults_test.py FAULT_RANK --tcp                   the same, with rendezvous and transport over TCP
  faults_test.py FAULT_RANK MPIRUN ARGUMENT...      the few cases that need mpirun
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from fault_job import Job, is_alive, wait_until

PROGRAM, MPIRUN = os.path.abspath(sys.argv[1]), sys.argv[2:]
LAYOUTS = {"one host": ["a", "a", "a"], "two hosts": ["a", "a", "b", "b"], "a host each": ["a", "b"]}
if MPIRUN == ["--tcp"]:
    MPIRUN = []
    LAYOUTS.pop("one host")
    Job.over_tcp = True
COMM_ERROR, TIMEOUT, ENDED_BY_MONITOR = 3, 4, 70


def library_memory():
    """Returns the named shared memory of the library. Files of other programs are ignored."""
    return {name for name in os.listdir("/dev/shm") if name.startswith("tutti")}


class Faults(unittest.TestCase):
    def setUp(self):
        self.memory_before = library_memory()

    def start(self, hosts, scenario, options="", mpirun=None, wrapper=()):
        job = Job([*wrapper, PROGRAM], hosts, scenario, options, mpirun)
        self.addCleanup(job.close)
        return job

    def over_layouts(self, scenario, options=""):
        for name, hosts in LAYOUTS.items():
            with self.subTest(layout=name):
                yield self.start(hosts, scenario, options)

    def others(self, job):
        return [rank for rank in range(len(job.hosts)) if rank != 1]

    def check_others(self, job, code, *messages):
        """Asserts that all ranks except the culprit exited with the code and printed the messages."""
        codes = job.end_codes()
        for rank in self.others(job):
            self.assertEqual(codes.get(rank), code, job.text("err"))
            for message in messages:
                self.assertRegex(job.text("err", rank), message)

    def check_nothing_left(self, job):
        for process in job.processes().values():
            wait_until(lambda: not is_alive(process), "the processes to end")
        self.assertLessEqual(library_memory(), self.memory_before)


class Plain(Faults):
    def test_ranks_that_agree_succeed(self):
        for job in self.over_layouts("fine"):
            self.assertEqual(set(job.end_codes().values()), {0}, job.text("err"))
            self.check_nothing_left(job)

    def test_a_killed_rank_ends_those_that_wait(self):
        for job in self.over_layouts("others wait"):
            job.send(signal.SIGKILL)
            self.check_others(job, COMM_ERROR, r"DDL-4-04 Rank 1 on .* is dead")
            self.check_nothing_left(job)

    def test_a_killed_rank_ends_those_that_compute(self):
        for job in self.over_layouts("others compute"):
            job.send(signal.SIGKILL)
            self.check_others(job, COMM_ERROR, r"DDL-4-04 Rank 1 on .* is dead")

    def test_a_killed_rank_ends_those_that_wait_for_its_message(self):
        for job in self.over_layouts("all but one wait for a message"):
            job.send(signal.SIGKILL)
            self.check_others(job, COMM_ERROR, r"DDL-4-04 Rank 1 on .* is dead")

    def test_programs_that_do_not_react_are_ended(self):
        for job in self.over_layouts("others sleep", "-on_failure abort"):
            job.send(signal.SIGKILL)
            job.end_codes()
            for rank in self.others(job):
                self.assertEqual(job.children[rank].returncode, ENDED_BY_MONITOR, job.text("err"))
                self.assertIn("DDL-4-04 Rank 1 on", job.text("err", rank))

    def test_a_rank_that_exits_without_a_leave_notice_counts_as_dead(self):
        for job in self.over_layouts("vanish"):
            self.check_others(job, COMM_ERROR, r"DDL-4-04 Rank 1 on .* is dead")

    def test_a_rank_that_leaves_is_named(self):
        for job in self.over_layouts("leave"):
            self.check_others(job, COMM_ERROR, r"DDL-4-03 Rank 1 on .* has left the job", r"all_reduce #3")
            self.assertEqual(job.children[1].returncode, 0)

    def test_a_stopped_rank_is_named_and_the_job_continues(self):
        for job in self.over_layouts("stop", "-stall_seconds 0.3"):
            # A host whose only rank is stopped cannot be queried.
            is_alone = job.hosts.count(job.hosts[1]) == 1
            for rank in self.others(job):
                pattern = r"no answer for .* \(rank 1\)" if is_alone else r"rank 1 on .*stopped by a signal"
                wait_until(lambda: re.search(pattern, job.text("err", rank)), f"{pattern}: {job.text('err')}")
            job.send(signal.SIGCONT)
            self.assertEqual(set(job.end_codes().values()), {0}, job.text("err"))
            self.assertIn("DDL-4-11", job.text("err", 0))
            events = (job.run_folder / "events-rank0.jsonl").read_text().splitlines()
            kinds = [json.loads(event)["kind"] for event in events]
            self.assertIn("stall", kinds)
            self.assertEqual(kinds[-1], "recovered")

    def test_a_missing_rank_ends_in_a_timeout_that_names_it(self):
        for job in self.over_layouts("missing", "-stall_seconds 0.3 -timeout 1"):
            self.check_others(job, TIMEOUT, r"DDL-4-05 .*rank 1 on .* has been outside the library", r"after barrier #2")
            self.assertEqual(job.end_codes()[1], TIMEOUT)

    def test_a_forked_child_is_refused_and_does_no_harm(self):
        for job in self.over_layouts("fork"):
            self.assertEqual(set(job.end_codes().values()), {0}, job.text("err"))
            self.assertEqual({child.returncode for child in job.children}, {0}, job.text("err"))

    def test_a_cycle_of_receives_is_reported_as_a_deadlock(self):
        for job in self.over_layouts("cycle of receives", "-stall_seconds 0.3 -timeout 2"):
            ranks = len(job.hosts)
            codes = job.end_codes()
            self.assertEqual(set(codes.values()), {TIMEOUT}, job.text("err"))
            receives = ", ".join(f"rank {r} receives from rank {(r + 1) % ranks}" for r in range(ranks))
            self.assertRegex(job.text("err"), rf"DDL-4-06 Waiting for .* in message from rank 1, tag 7 .*: deadlock: {receives}\. Let one")

    def test_a_rank_in_a_receive_is_inside_the_library(self):
        for job in self.over_layouts("collective and receive", "-stall_seconds 0.3 -timeout 2"):
            job.end_codes()
            self.assertRegex(job.text("err", 0), r"DDL-4-06 .* in all_reduce #3 .*rank 1 on .* has been in a receive of 1 x u8 from rank 0, tag 1000 for")

    def test_ranks_that_disagree_name_both_sides(self):
        sides = {"count": ("1000 x f32", "1001 x f32"), "dtype": ("1000 x f32", "1000 x f64"), "op": ("sum", "max"),
                 "name": ("'weights'", "'bias'"), "collective": ("all_reduce #3", "barrier #3")}
        for scenario, (one, other) in sides.items():
            for job in self.over_layouts(scenario):
                self.check_others(job, COMM_ERROR, "DDL-4-02", re.escape(one), re.escape(other))
                self.assertEqual(job.end_codes()[1], COMM_ERROR)
                self.check_nothing_left(job)

    def test_a_mismatch_takes_precedence_over_later_exits(self):
        job = self.start(["a", "a", "a"], "disagree and vanish")
        self.assertEqual(job.end_codes().get(2), COMM_ERROR, job.text("err"))
        self.assertIn("DDL-4-02", job.text("err", 2))
        self.assertNotIn("DDL-4-04", job.text("err", 2))

    def test_every_rank_writes_its_flight_record(self):
        for job in self.over_layouts("others wait", "-stall_seconds 0.3"):
            for rank in self.others(job):  # it is inside the third call already
                wait_until(lambda: "#3" in job.text("err", rank), f"rank {rank} to wait: {job.text('err')}")
            job.send(signal.SIGKILL)
            job.end_codes()
            for rank in self.others(job):
                flight = json.loads((job.run_folder / f"flight-rank{rank}.json").read_text())
                self.assertIn("DDL-4-04", flight["reason"])
                self.assertEqual([o["sequence"] for o in flight["operations"]], [1, 2, 3])
                self.assertTrue(flight["operations"][-1]["unfinished"])
                self.assertLessEqual(flight["operations"][0]["start_ns"], flight["operations"][0]["end_ns"])

    def test_a_signal_has_the_flight_record_written(self):
        for job in self.over_layouts("signal", "-flight_signal 1"):
            self.assertEqual(set(job.end_codes().values()), {0}, job.text("err"))
            flight = json.loads((job.run_folder / "flight-rank1.json").read_text())
            self.assertEqual(flight["reason"], "SIGUSR1")

    def test_traces_are_merged(self):
        tutti = Path(PROGRAM).with_name("tutti")
        for job in self.over_layouts("fine", "-trace 1"):
            self.assertEqual(set(job.end_codes().values()), {0}, job.text("err"))
            if not tutti.exists():
                continue
            subprocess.run([tutti, "trace", "merge", job.run_folder], check=True, stdout=subprocess.DEVNULL)
            events = json.loads((job.run_folder / "trace.json").read_text())["traceEvents"]
            operations = [event for event in events if event["ph"] == "X"]
            self.assertEqual(len(operations), 3 * len(job.hosts))
            self.assertEqual({event["pid"] for event in operations}, set(range(len(job.hosts))))

    def test_a_small_shared_memory_file_system_does_not_matter(self):
        small = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$@"', "sh"]
        if not shutil.which("unshare") or subprocess.run(small + ["true"], capture_output=True).returncode != 0:
            self.skipTest("this machine does not allow mounts")
        job = self.start(["a", "a", "a"], "fine", wrapper=small)
        self.assertEqual(set(job.end_codes().values()), {0}, job.text("err"))


class UnderMpirun(Faults):
    """Under mpirun, configured not to abort the job itself, so the library's reports are tested."""

    LAYOUTS = {"one host": ["a", "a", "a"], "two hosts": ["a", "a", "b"]}

    def run_job(self, hosts, scenario, options=""):
        return self.start(hosts, scenario, options, MPIRUN)

    def test_ranks_that_agree_succeed(self):
        job = self.run_job(["a", "a", "b"], "fine")
        self.assertEqual(job.end_codes(), {0: 0, 1: 0, 2: 0}, job.text("err"))

    def test_a_killed_rank_ends_the_others(self):
        for name, hosts in self.LAYOUTS.items():
            with self.subTest(layout=name):
                job = self.run_job(hosts, "others wait")
                job.send(signal.SIGKILL)
                self.assertEqual(job.end_codes(), {0: COMM_ERROR, 2: COMM_ERROR}, job.text("err"))
                self.assertRegex(job.text("err"), r"rank 0\] error: DDL-4-04 Rank 1 on .* is dead")
                self.assertRegex(job.text("err"), r"rank 2\] error: DDL-4-04 Rank 1 on .* is dead")
                self.check_nothing_left(job)

    def test_plain_mpirun_ends_with_an_error(self):
        job = self.start(["a", "a"], "others compute", mpirun=MPIRUN[: MPIRUN.index("--enable-recovery")])
        job.send(signal.SIGKILL)
        job.end_codes()
        self.assertNotEqual(job.children[0].returncode, 0)
        self.check_nothing_left(job)

    def test_ranks_that_disagree_name_both_sides(self):
        job = self.run_job(["a", "a", "b"], "count")
        self.assertEqual(job.end_codes(), {0: COMM_ERROR, 1: COMM_ERROR, 2: COMM_ERROR}, job.text("err"))

    def test_a_missing_rank_ends_in_a_timeout(self):
        job = self.run_job(["a", "a", "b"], "missing", "-stall_seconds 0.3 -timeout 1")
        self.assertEqual(job.end_codes(), {0: TIMEOUT, 1: TIMEOUT, 2: TIMEOUT}, job.text("err"))

    def test_ranks_wait_at_the_end_for_live_ranks(self):
        for name, hosts in self.LAYOUTS.items():
            with self.subTest(layout=name):
                job = self.run_job(hosts, "end late", "-stall_seconds 0.3")
                for rank in 0, 2:
                    pattern = rf"rank {rank}\] warning: DDL-4-06 Waiting for .* in finalize: rank 1 on .* after barrier #2"
                    wait_until(lambda: re.search(pattern, job.text("err")), f"{pattern}: {job.text('err')}")
                Path(job.folder.name, "release").touch()
                self.assertEqual(job.end_codes(), {0: 0, 1: 0, 2: 0}, job.text("err"))
                self.assertEqual(job.children[0].returncode, 0, job.text("err"))
                self.assertNotIn("MPI is left as it is", job.text("err"))

    def test_a_rank_that_is_killed_is_not_waited_for_at_the_end(self):
        for name, hosts in self.LAYOUTS.items():
            with self.subTest(layout=name):
                job = self.run_job(hosts, "end late", "-stall_seconds 0.3")
                job.wait_for("in finalize")
                job.send(signal.SIGKILL)
                self.assertEqual(job.end_codes(), {0: 0, 2: 0}, job.text("err"))
                self.assertRegex(job.text("err"), r"DDL-4-04 Rank 1 on .* is dead")

    def test_collectives_of_mpi_itself_are_watched_too(self):
        job = self.run_job(["a", "a", "b"], "missing", "-mode m -stall_seconds 0.3 -timeout 1")
        self.assertEqual(job.end_codes(), {0: TIMEOUT, 1: TIMEOUT, 2: TIMEOUT}, job.text("err"))
        job = self.run_job(["a", "a", "b"], "count", "-mode m")
        self.assertEqual(job.end_codes(), {0: COMM_ERROR, 1: COMM_ERROR, 2: COMM_ERROR}, job.text("err"))
        self.assertIn("DDL-4-02", job.text("err"))
        job = self.run_job(["a", "a", "b"], "others wait", "-mode m")
        job.send(signal.SIGKILL)
        self.assertEqual(job.end_codes(), {0: COMM_ERROR, 2: COMM_ERROR}, job.text("err"))

    def test_a_stopped_rank_is_named_and_the_job_continues(self):
        job = self.run_job(["a", "a", "b"], "stop", "-stall_seconds 0.3")
        job.wait_for("stopped by a signal")
        job.send(signal.SIGCONT)
        self.assertEqual(job.end_codes(), {0: 0, 1: 0, 2: 0}, job.text("err"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "--verbose", "UnderMpirun" if MPIRUN else "Plain"])
