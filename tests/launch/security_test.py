#!/usr/bin/python3
"""Protection of ddlrun's listeners and files against other users of the machine and the network.

  security_test.py DDLRUN [MPI ...]    MPI: openmpi, mpich, none
"""

import os
import re
import socket
import struct
import sys
import tempfile
import unittest
from pathlib import Path

from ddlrun import Run, command_lines_with, listeners

DDLRUN, KINDS = Path(sys.argv[1]).resolve(), sys.argv[2:] or ["none"]
TWO = ("--oversubscribe", "-n", 2)


class Case(unittest.TestCase):
    def start(self, *arguments, **settings):
        run = Run(DDLRUN, *arguments, **settings)
        self.addCleanup(run.close)
        return run


class Listeners(Case):
    def start_waiting(self, kind, begin="echo ready"):
        """A job of two ranks that run until finish()."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.go = Path(folder.name, "go")
        run = self.start("--mpi", kind, *TWO, "sh", "-c", f"{begin}; while ! test -e {self.go}; do sleep 0.01; done; echo done")
        run.wait_for(r"^(ready|secret \w+)$", 2)
        self.assertIsNone(run.process.poll(), run.errors)
        return run

    def finish(self, run):
        self.go.touch()
        self.assertEqual(run.wait().code, 0, run.errors)
        self.assertEqual(run.output.count("done\n"), 2)

    def test_a_local_job_listens_on_the_loopback_only(self):
        for kind in KINDS:
            with self.subTest(mpi=kind):
                run = self.start_waiting(kind)
                self.assertEqual([address for address, _ in listeners(run.process.pid)], ["0100007F"])
                self.finish(run)

    def test_garbage_and_silence_do_not_end_a_job(self):
        run = self.start_waiting(KINDS[0])
        ((_, port),) = listeners(run.process.pid)
        body = b'{"key":5}'
        silent = []
        for message in (b"H" + struct.pack("<I", len(body)) + body, b"GET / HTTP/1.1\r\n\r\n", b"TUTTI-1\n" + bytes(48), bytes(100000)):
            with socket.create_connection(("127.0.0.1", int(port, 16))) as connection:
                try:
                    connection.sendall(message)
                except ConnectionError:
                    pass
        for _ in range(2000):  # more than ddlrun's limit of open files
            silent.append(socket.create_connection(("127.0.0.1", int(port, 16))))
        self.assertLess(len(os.listdir(f"/proc/{run.process.pid}/fd")), 200)
        self.finish(run)
        for connection in silent:
            connection.close()

    def test_the_secret_is_on_no_command_line_and_in_no_file(self):
        for kind in KINDS:
            with self.subTest(mpi=kind):
                run = self.start_waiting(kind, "echo secret $TUTTI_JOB_SECRET")
                (secret,) = set(re.findall(r"secret ([0-9a-f]{64})", run.output))
                lines = command_lines_with(run.mark)
                self.assertGreaterEqual(len(lines), 4)
                self.assertFalse([line for line in lines if secret.encode() in line])
                self.finish(run)
                files = [path for path in run.run_folder.iterdir() if not path.name.startswith("rank-")]  # ranks printed it
                self.assertFalse([path for path in files if secret in path.read_text()])
                self.assertNotIn(secret, run.errors)


class RunFolders(Case):
    """The default run directory, in $TMPDIR."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.default = self.top / f"DDLRUN-{os.geteuid()}"

    def run_there(self, *arguments):
        run = self.start(*arguments, before=["env", f"TMPDIR={self.top}", "sh", "-c", 'program=$1; shift 3; exec "$program" "$@"', "sh"])
        return run.wait()

    def test_are_private_and_without_values_of_exports(self):
        run = self.run_there("--oversubscribe", "-n", 1, "-x", "API_KEY=hunter2", "sh", "-c", "test ${#API_KEY} = 7")
        self.assertEqual(run.code, 0, run.errors)
        (folder,) = self.default.iterdir()
        self.assertEqual(self.default.stat().st_mode & 0o777, 0o700)
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        for path in folder.iterdir():
            self.assertNotIn("hunter2", path.read_text(), path)

    def test_are_not_created_behind_a_symbolic_link(self):
        victim = self.top / "victim"
        victim.mkdir()
        self.default.symlink_to(victim)
        run = self.run_there("--oversubscribe", "-n", 1, "true")
        self.assertEqual((run.code, list(victim.iterdir())), (2, []), run.errors)
        self.assertIn("DDL-3-38", run.errors)

    @unittest.skipUnless(os.geteuid() == 0, "only root can change the owner of directories")
    def test_are_not_created_in_a_directory_of_another_user(self):
        self.default.mkdir()
        os.chown(self.default, 12345, 12345)
        run = self.run_there("--oversubscribe", "-n", 1, "true")
        self.assertEqual((run.code, list(self.default.iterdir())), (2, []), run.errors)
        self.assertIn("DDL-3-38", run.errors)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "--verbose"])
