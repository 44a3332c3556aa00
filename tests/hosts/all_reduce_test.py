#!/usr/bin/python3
"""All-reduce over 4 hosts x 2 ranks with Open MPI over TCP, whichever way the ranks are dealt over the hosts.

  all_reduce_test.py PROGRAM MPIRUN
"""

import sys
import unittest

from bed import exit_where_not_allowed, on, testbed

HOSTS, RANKS_PER_HOST = 4, 2
PROGRAM, MPIRUN = sys.argv.pop(1), sys.argv.pop(1)


class AllReduce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(testbed, "down")
        testbed("up", "--hosts", str(HOSTS), "--rate", "1gbit")

    def run_dealt(self, by):
        slots = testbed("hosts", "--slots", str(RANKS_PER_HOST)).stdout.strip()
        command = [MPIRUN, "--host", slots, "--map-by", by, "--bind-to", "none", PROGRAM, str(HOSTS), str(RANKS_PER_HOST)]
        self.assertEqual(on("host1", *command, seconds=120), "8 ranks on 4 hosts: right")

    def test_by_slot(self):
        self.run_dealt("slot")

    def test_by_node(self):
        self.run_dealt("node")


if __name__ == "__main__":
    exit_where_not_allowed()
    unittest.main()
