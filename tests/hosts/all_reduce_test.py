#!/usr/bin/python3
"""All-reduce over 4 hosts x 2 ranks: with Open MPI for several rank mappings, without MPI, and with IPv6 only.

  all_reduce_test.py PROGRAM MPIRUN
"""

import os
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

from bed import exit_where_not_allowed, on, testbed

HOSTS, RANKS_PER_HOST = 4, 2
PROGRAM, MPIRUN = sys.argv.pop(1), sys.argv.pop(1)


class Bed(unittest.TestCase):
    OPTIONS = ()

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(testbed, "down")
        testbed("up", "--hosts", str(HOSTS), "--rate", "1gbit", *cls.OPTIONS)

    def run_dealt(self, by):
        slots = testbed("hosts", "--slots", str(RANKS_PER_HOST)).stdout.strip()
        command = [MPIRUN, "--host", slots, "--map-by", by, "--bind-to", "none", PROGRAM, str(HOSTS), str(RANKS_PER_HOST)]
        self.assertEqual(on("host1", *command, seconds=120), "8 ranks on 4 hosts: right")

    def run_plain(self, rank, master):
        environment = {"RANK": rank, "WORLD_SIZE": HOSTS * RANKS_PER_HOST, "LOCAL_WORLD_SIZE": RANKS_PER_HOST, "MASTER_ADDR": master,
                       "MASTER_PORT": 29500}
        words = [f"{name}={value}" for name, value in environment.items()]
        return on(f"host{rank // RANKS_PER_HOST + 1}", "env", *words, PROGRAM, str(HOSTS), str(RANKS_PER_HOST), seconds=120)

    def run_as_torch_starts_them(self, master):
        with ThreadPoolExecutor(HOSTS * RANKS_PER_HOST) as ranks:
            said = list(ranks.map(lambda rank: self.run_plain(rank, master), range(HOSTS * RANKS_PER_HOST)))
        self.assertEqual(said[0], "8 ranks on 4 hosts: right")


class AllReduce(Bed):
    def test_by_slot(self):
        self.run_dealt("slot")

    def test_by_node(self):
        self.run_dealt("node")

    def test_as_torch_starts_them(self):
        self.run_as_torch_starts_them("host1")


@unittest.skipUnless(os.path.exists("/proc/net/if_inet6"), "this machine has no IPv6")
class AllReduceOverIPv6(Bed):
    OPTIONS = ("--ipv6",)

    def test_with_mpi(self):
        self.run_dealt("slot")

    def test_by_name(self):
        self.run_as_torch_starts_them("host1")

    def test_by_address(self):
        self.run_as_torch_starts_them("2001:db8::1")


if __name__ == "__main__":
    exit_where_not_allowed()
    unittest.main()
