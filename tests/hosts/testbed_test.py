#!/usr/bin/python3
"""The testbed: isolated hosts that reach each other and nothing else, and leave nothing behind.

Exit code 77 (skipped) if the machine does not permit namespaces.
"""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from bed import NAME, TESTBED, exit_where_not_allowed, on, testbed

HERE = Path(__file__).resolve().parent
RATE = 100e6


def processes():
    """Returns the directories in /proc of the hub and the hosts of this testbed."""
    return [path for path in Path("/proc").glob("[0-9]*") if f"/{NAME}\0" in words_of(path)]


def words_of(process):
    try:
        return (process / "cmdline").read_text(errors="replace")
    except OSError:
        return ""


def wait_until(condition):
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


class Testbed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        testbed("up", "--hosts", "2", "--rate", "100mbit", "--shm", "64m")

    @classmethod
    def tearDownClass(cls):
        testbed("down")

    def test_hosts_have_names_and_reach_each_other_by_ssh(self):
        self.assertEqual(on("host1", "hostname"), "host1")
        self.assertEqual(on("host1", "ssh", "host2", "hostname"), "host2")
        self.assertEqual(on("host2", "ssh", "host1", "cat", "/etc/hostname"), "host1")

    def test_boot_ids_differ(self):
        path = "/proc/sys/kernel/random/boot_id"
        ids = {on("host1", "cat", path), on("host2", "cat", path), Path(path).read_text().strip()}
        self.assertEqual(len(ids), 3)
        self.assertEqual(on("host1", "ssh", "host2", "cat", path), on("host2", "cat", path))

    def test_shared_memory_is_private_and_as_small_as_asked(self):
        on("host1", "touch", f"/dev/shm/{NAME}")
        self.assertEqual(on("host1", "ls", "/dev/shm"), NAME)
        self.assertEqual(on("host2", "ls", "/dev/shm"), "")
        self.assertFalse(Path("/dev/shm", NAME).exists())
        self.assertEqual(on("host1", "stat", "-f", "-c", "%b %S", "/dev/shm"), f"{(64 << 20) // 4096} 4096")

    def test_processes_of_another_host_are_out_of_reach(self):
        first_words = on("host2", "cat", "/proc/1/cmdline").split("\0")
        self.assertEqual(first_words[-2], "host2")
        self.assertNotIn("host1\0", on("host2", "sh", "-c", "cat /proc/[0-9]*/cmdline"))

    def test_the_network_is_isolated(self):
        routes = [line.split()[0] for line in on("host1", "ip", "-4", "route").splitlines()]
        self.assertEqual(routes, ["192.0.2.0/24"])
        self.assertEqual(sorted(on("host1", "ls", "/sys/class/net").split()), ["eth0", "lo"])

    def test_commands_run_in_the_same_folder_and_pass_their_code_on(self):
        self.assertEqual(on("host1", "pwd"), os.getcwd())
        self.assertEqual(testbed("exec", "host1", "--", "sh", "-c", "exit 5", check=False).returncode, 5)
        self.assertEqual(testbed("exec", "host9", "--", "true", check=False).returncode, 2)

    def test_links_are_no_faster_than_asked(self):
        receiver = [TESTBED, "exec", "--name", NAME, "host2", "--", HERE / "bandwidth.py", "receive", "5001"]
        with subprocess.Popen(receiver, stdout=subprocess.PIPE, text=True) as receiving:
            self.assertEqual(receiving.stdout.readline(), "listening\n")
            on("host1", HERE / "bandwidth.py", "send", "host2", "5001", "2500000")
            measured = json.loads(receiving.stdout.readline())
        self.assertEqual(measured["bytes"], 2500000)
        self.assertLess(measured["bytes"] * 8 / measured["seconds"], 1.05 * RATE)

    def test_a_disconnected_link_is_detected_and_can_be_restored(self):
        connect = ["sh", "-c", "ssh -o ConnectTimeout=1 host2 true && echo yes || echo no"]
        testbed("link", "host2", "down")
        self.assertEqual(on("host1", *connect), "no")
        testbed("link", "host2", "up")
        self.assertEqual(on("host1", *connect), "yes")

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_mpirun_starts_ranks_on_every_host(self):
        names = on("host1", "mpirun", "--oversubscribe", "--host", testbed("hosts", "--slots", "2").stdout.strip(), "hostname")
        self.assertEqual(sorted(names.split()), ["host1", "host1", "host2", "host2"])

    def test_up_again_changes_nothing(self):
        before = testbed("status").stdout
        self.assertIn("up already", testbed("up", "--hosts", "2", "--rate", "100mbit", "--shm", "64m").stdout)
        self.assertEqual(testbed("status").stdout, before)


class End(unittest.TestCase):
    def setUp(self):
        self.addCleanup(testbed, "down")
        testbed("up", "--hosts", "2")

    def test_down_leaves_nothing(self):
        command = [TESTBED, "exec", "--name", NAME, "host1", "--", "sh", "-c", "echo started; exec sleep 1000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as left:
            self.assertEqual(left.stdout.readline(), "started\n")
            testbed("down")
            self.assertNotEqual(left.wait(timeout=10), 0)
        self.assertEqual(processes(), [])
        self.assertFalse((Path("/run/tutti-testbed") / NAME).exists())

    def test_all_ends_with_the_hub(self):
        hub = next(path for path in processes() if "\0_hub\0" in words_of(path))
        os.kill(int(hub.name), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not processes()))

    def test_a_stopped_host_is_removed_and_the_other_stays(self):
        testbed("stop", "host2")
        self.assertIn("stopped", testbed("status").stdout)
        self.assertEqual(on("host1", "hostname"), "host1")
        self.assertIn("is up:", testbed("up", "--hosts", "2").stdout)
        self.assertEqual(on("host2", "hostname"), "host2")


if __name__ == "__main__":
    exit_where_not_allowed()
    unittest.main()
