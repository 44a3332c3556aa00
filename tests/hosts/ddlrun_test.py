#!/usr/bin/python3
"""ddlrun over 4 hosts with real sshd: rank placement, checks of hosts and links, and lost hosts.

  ddlrun_test.py DDLRUN PROGRAM FAULT_RANK      PROGRAM: an all-reduce over all ranks
"""

import re
import signal
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "launch"))
from bed import NAME, TESTBED, exit_where_not_allowed, on, testbed
from ddlrun import Run, listeners, processes_with

DDLRUN, PROGRAM, FAULT_RANK = (str(Path(sys.argv.pop(1)).resolve()) for _ in range(3))
HOSTS = "host1,host2,host3,host4"
SHAPE = "tutti machine 1\nname = x\nmemory = 16GiB\n[socket]\ncores = {cores}\n"


class Hosts(unittest.TestCase):
    def setUp(self):
        testbed("up", "--hosts", "4", "--rate", "1gbit")

    @classmethod
    def tearDownClass(cls):
        testbed("down")

    def start(self, *words):
        run = Run(DDLRUN, *words, before=[TESTBED, "exec", "--name", NAME, "host1", "--"])
        self.addCleanup(run.close)
        return run

    def run_to_end(self, *words):
        return self.start(*words).wait()

    def test_ranks_are_distributed_over_hosts(self):
        run = self.run_to_end("-H", HOSTS, "--oversubscribe", "-n", 6, "sh", "-c", "echo $RANK $(hostname) $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR")
        self.assertEqual(run.lines, ["0 host1 0/2 192.0.2.1", "1 host2 0/2 192.0.2.1", "2 host3 0/1 192.0.2.1",
                                     "3 host4 0/1 192.0.2.1", "4 host1 1/2 192.0.2.1", "5 host2 1/2 192.0.2.1"], run.errors)
        self.assertIn("--mca btl_tcp_if_include 192.0.2.0/24", run.errors)

    def test_an_all_reduce_with_pinned_ranks(self):
        run = self.run_to_end("-H", HOSTS, "-n", 4, PROGRAM, "4", "1")
        self.assertEqual(run.lines, ["4 ranks on 4 hosts: right"], run.errors)

    @unittest.skipUnless(Path("/proc/net/if_inet6").exists(), "this machine has no IPv6")
    def test_hosts_with_addresses_of_ipv6_only(self):
        testbed("up", "--hosts", "2", "--rate", "1gbit", "--ipv6")
        run = self.run_to_end("-H", "host1,host2", "-n", 2, PROGRAM, "2", "1")
        self.assertEqual(run.lines, ["2 ranks on 2 hosts: right"], run.errors)
        run = self.run_to_end("--check", "-H", "host1,host2")
        self.assertEqual(run.code, 0, run.output)
        self.assertRegex(run.output, r"from \\ to +host1 +host2\n +host1 +- +\d+\n")

    def test_ddlrun_may_run_outside_the_job(self):
        run = self.run_to_end("-H", "host2,host3", "-n", 2, "hostname")
        self.assertEqual(run.lines, ["host2", "host3"], run.errors)

    def test_the_slow_link_is_named(self):
        self.addCleanup(testbed, "link", "host3", "1gbit")
        testbed("link", "host3", "100mbit")
        run = self.run_to_end("--check", "-H", HOSTS)
        self.assertRegex(run.output, r"DDL-3-35 host3 to every host, both ways: \d+ Mbit/s, where good links have \d+")
        self.assertEqual(run.output.count("DDL-3-35 host"), 1, run.output)
        self.assertRegex(run.output, r"from \\ to +host1 +host2 +host3 +host4\n +host1 +- +\d+ +\d+ +\d+\n")
        self.assertEqual(run.code, 0)

    def test_hosts_that_refuse_ssh(self):
        self.addCleanup(testbed, "stop", "host2")  # the next test needs a complete testbed
        on("host2", "pkill", "-f", "sshd_config")
        run = self.run_to_end("-H", HOSTS, "hostname")
        self.assertRegex(run.errors, r"error: DDL-3-21 host2 did not answer on ssh \(.*refused\)")
        self.assertEqual((run.code, run.output), (2, ""))

    def test_a_host_of_another_shape(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(1, 5):
                Path(folder, f"host{number}").write_text(SHAPE.format(cores="0 1" if number != 3 else "0"))
            run = self.run_to_end("--topology", f"{folder}/%h", "-H", HOSTS, "hostname")
            self.assertRegex(run.errors, r"error: DDL-3-29 host3 differs from host1: ")
            self.assertEqual((run.code, run.output), (2, ""))

    def test_a_rank_killed_on_another_host(self):
        run = self.start("-H", HOSTS, "-n", 4, "sh", "-c", "echo process $RANK $$; exec sleep 1000")
        run.wait_for(r"process \d \d+\n", 4)
        victim = re.search(r"process 2 (\d+)", run.output).group(1)
        on("host3", "kill", "-KILL", victim)
        run.wait()
        self.assertRegex(run.errors, r"DDL-3-41 Rank 2 on host3 was killed by signal 9")
        self.assertEqual(run.code, 128 + signal.SIGKILL)
        self.assertEqual(run.left_behind(), [])

    def test_a_killed_agent_leaves_no_processes(self):
        script = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 1000; sleep 1000\" &); echo agent $RANK $PPID; sleep 1000; sleep 1000"
        for with_guard in (False, True):
            with self.subTest(with_guard=with_guard):
                run = self.start("-H", HOSTS, "-n", 4, "sh", "-c", script)
                run.wait_for(r"agent \d \d+\n", 4)
                agent = re.search(r"agent 1 (\d+)", run.output).group(1)
                guard = on("host2", "awk", "/^PPid/ {print $2}", f"/proc/{agent}/status")
                on("host2", "kill", "-KILL", *([guard] if with_guard else []), agent)
                run.wait()
                self.assertRegex(run.errors, r"DDL-3-42 Rank 1 on host2 was lost")
                self.assertEqual(run.left_behind(), [])

    def test_the_secret_is_on_no_command_line_of_any_host(self):
        run = self.start("-H", HOSTS, "-n", 4, "sh", "-c", "echo secret $TUTTI_JOB_SECRET; exec sleep 1000")
        run.wait_for(r"secret [0-9a-f]{64}\n", 4)
        (secret,) = set(re.findall(r"secret ([0-9a-f]{64})", run.output))
        for path in Path("/proc").glob("[0-9]*"):  # the hosts share the processes of this machine
            try:
                self.assertNotIn(secret.encode(), (path / "cmdline").read_bytes())
            except OSError:
                pass
        run.process.send_signal(signal.SIGTERM)
        run.wait()

    def test_ddlrun_listens_only_on_the_network_of_the_hosts(self):
        run = self.start("-H", HOSTS, "-n", 4, "sh", "-c", "echo ready; exec sleep 1000")
        run.wait_for("ready", 4)
        programs = {process: Path(f"/proc/{process}/cmdline").read_bytes() for process in processes_with(run.mark)}
        (ddlrun,) = (process for process, words in programs.items() if words.startswith(DDLRUN.encode()) and b"--log-dir" in words)
        self.assertEqual([address for address, _ in listeners(ddlrun)], ["010200C0"])  # 192.0.2.1
        run.process.send_signal(signal.SIGTERM)
        run.wait()

    def test_a_mismatch_takes_precedence_over_later_exits_on_every_host(self):
        run = self.run_to_end("-H", HOSTS, "-n", 4, FAULT_RANK, "disagree and vanish")
        for rank in range(4):
            self.assertRegex(run.errors, rf"rank {rank}\] error: DDL-4-02 Ranks disagree: .*(1000|1001) x f32")
        self.assertNotIn("DDL-4-04", run.errors)
        self.assertEqual(run.code, 3)

    def test_a_host_that_vanishes_is_dropped_from_the_restart(self):
        script = "echo try $DDL_RESTART_COUNT: $RANK of $WORLD_SIZE on $(hostname); test $DDL_RESTART_COUNT = 1 || exec sleep 1000"
        run = self.start("-H", HOSTS, "-accelerators", 1, "--max-restarts", 1, "sh", "-c", script)
        run.wait_for(r"try 0: \d of 4", 4)
        testbed("stop", "host3")
        run.wait()
        self.assertEqual(run.code, 0, run.errors)
        self.assertRegex(run.errors, r"DDL-3-42 Rank 2 on host3 was lost")
        self.assertRegex(run.errors, r"without host3: DDL-3-21")
        self.assertEqual([line for line in run.lines if line.startswith("try 1")],
                         ["try 1: 0 of 3 on host1", "try 1: 1 of 3 on host2", "try 1: 2 of 3 on host4"])
        self.assertEqual(run.left_behind(), [])

    def test_a_disconnected_link_ends_the_ranks_at_both_ends(self):
        run = self.start("-H", HOSTS, "-n", 4, "sh", "-c", "echo ready; exec sleep 1000")
        run.wait_for("ready", 4)
        self.addCleanup(testbed, "link", "host4", "up")
        testbed("link", "host4", "down")
        run.wait()
        self.assertRegex(run.errors, r"DDL-3-42 Rank 3 on host4 was lost")
        self.assertEqual(run.left_behind(), [])


if __name__ == "__main__":
    exit_where_not_allowed()
    unittest.main(argv=[sys.argv[0], "--verbose"])
