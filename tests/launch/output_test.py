#!/usr/bin/python3
"""Output of ddlrun that is read late or never, or cannot be written.

  output_test.py DDLRUN [MPI ...]    MPI: openmpi, mpich, none
"""

import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from ddlrun import Run, wait_until

DDLRUN, KINDS = Path(sys.argv[1]).resolve(), sys.argv[2:] or ["none"]
ONE = ("--oversubscribe", "-n", 1)
NUMBERS = "".join(f"{i}\n" for i in range(1, 600001)).encode()


class Case(unittest.TestCase):
    def start(self, *arguments, **settings):
        run = Run(DDLRUN, *arguments, **settings)
        self.addCleanup(run.close)
        return run

    def start_with_pipe(self, *arguments, **settings):
        """Returns a run whose output goes to a pipe that nothing reads yet, and the pipe."""
        reading, writing = os.pipe()
        run = self.start(*arguments, out=writing, **settings)
        os.close(writing)
        pipe = os.fdopen(reading, "rb")
        self.addCleanup(pipe.close)
        return run, pipe


def has_logged(run, kind):
    """Returns whether ddlrun has logged an event of this kind."""
    return any(f'"kind":"{kind}"' in path.read_text() for path in run.logs.glob("*/events-launcher.jsonl"))


class SlowReaders(Case):
    def test_every_byte_arrives_when_it_is_read_long_after_the_end_of_the_rank(self):
        for kind in KINDS:
            with self.subTest(mpi=kind):
                run, pipe = self.start_with_pipe("--mpi", kind, *ONE, "head", "-c", "300000", "/dev/zero")
                wait_until(lambda: has_logged(run, "rank_end"), "the end of the rank")
                self.assertIsNone(run.process.poll())
                self.assertEqual(pipe.read(), bytes(300000))
                self.assertEqual(run.wait().code, 0, run.errors)

    def test_a_rank_waits_for_the_reader_and_memory_is_bounded(self):
        run, pipe = self.start_with_pipe(*ONE, "--max-restarts", 3, "sh", "-c", "seq 1 600000; seq 1 600000; seq 1 600000")
        wait_until(lambda: sum(path.stat().st_size for path in run.logs.glob("*/rank-0.log")) > 4 << 20, "full queues")
        self.assertIsNone(run.process.poll())
        self.assertEqual(pipe.read(), 3 * NUMBERS)
        self.assertEqual(run.wait().code, 0, run.errors)
        self.assertNotIn("DDL-3-47", run.errors)
        self.assertEqual((run.run_folder / "rank-0.log").read_bytes(), 3 * NUMBERS)

    def test_signals_and_the_timeout_end_a_job_that_is_not_read(self):
        for end, code in ((lambda run: run.process.send_signal(signal.SIGINT), 130),
                          (lambda run: run.process.send_signal(signal.SIGTERM), 143), (lambda run: None, 124)):
            for program in ("yes", "head -c 300000 /dev/zero"):  # a program that keeps running, and one that has exited
                with self.subTest(code=code, program=program):
                    options = ("--timeout", 2) if code == 124 else ()
                    run, _pipe = self.start_with_pipe(*ONE, *options, "sh", "-c", program)
                    wait_until(lambda: list(run.logs.glob("*/rank-0.log")) or run.process.poll() is not None, "output")
                    end(run)
                    self.assertEqual(run.wait().code, code, run.errors)
                    self.assertEqual(run.left_behind(), [])

    def test_a_failure_is_detected_when_output_is_not_read(self):
        script = "test $RANK = 1 || exec yes; while ! test -s $TUTTI_RUN_FOLDER/rank-0.log; do sleep 0.01; done; exit 7"
        run, pipe = self.start_with_pipe("--oversubscribe", "-n", 2, "sh", "-c", script)
        wait_until(lambda: has_logged(run, "job_end"), "the end of the job")
        self.assertIsNone(run.process.poll())  # its output was not delivered yet
        self.assertTrue(pipe.read().startswith(b"y\ny\n"))
        self.assertEqual(run.wait().code, 7)
        self.assertIn("DDL-3-40 Rank 1", run.errors)

    def test_a_stopped_ddlrun_continues(self):
        run, pipe = self.start_with_pipe(*ONE, "sh", "-c", "seq 1 600000")
        wait_until(run.has_started, "the run directory")
        run.process.send_signal(signal.SIGSTOP)
        run.process.send_signal(signal.SIGCONT)
        self.assertEqual(pipe.read(), NUMBERS)
        self.assertEqual(run.wait().code, 0, run.errors)


class ClosedFiles(Case):
    def test_do_not_end_a_job(self):
        for closed in ("1>&-", "2>&-", "0<&-", "0<&- 1>&- 2>&-"):
            with self.subTest(closed=closed):
                run = self.start(*ONE, "sh", "-c", "echo out; echo err >&2", before=["sh", "-c", f'"$@" {closed}', "sh"]).wait()
                self.assertEqual(run.code, 0, run.errors)
                self.assertEqual(run.output, "" if "1>&-" in closed else "out\n")
                log = (run.run_folder / "rank-0.log").read_text().splitlines()
                self.assertEqual(sorted(log), ["err", "out"])


class LongLines(Case):
    def test_pass_unchanged(self):
        program = "import sys; [sys.stdout.write(chr(97 + i % 26) * 100000) for i in range(300)]"
        expected = "".join(chr(97 + i % 26) * 100000 for i in range(300))
        for kind in KINDS:
            for tag in ((), ("--tag-output",)):
                with self.subTest(mpi=kind, tag=tag):
                    run = self.start("--mpi", kind, *tag, *ONE, "/usr/bin/python3", "-c", program).wait()
                    self.assertEqual(run.code, 0, run.errors)
                    prefix = f"[0 {os.uname().nodename}] " if tag else ""
                    self.assertTrue(run.output == prefix + expected)
                    self.assertTrue((run.run_folder / "rank-0.log").read_text() == expected)


class Terminals(Case):
    SHOW = "test -t 1 && echo terminal || echo file"

    def test_ranks_have_one_only_where_ddlrun_has(self):
        for kind in KINDS:
            with self.subTest(mpi=kind):
                run = self.start("--mpi", kind, *ONE, "sh", "-c", self.SHOW).wait()
                self.assertEqual(run.output, "file\n", run.errors)
                master, slave = pty.openpty()
                self.addCleanup(os.close, master)
                run = self.start("--mpi", kind, *ONE, "sh", "-c", self.SHOW, out=slave)
                os.close(slave)
                self.assertEqual(run.wait().code, 0, run.errors)
                self.assertEqual(os.read(master, 100).strip(), b"terminal")


class Input(Case):
    def test_only_rank_0_reads_it(self):
        text = NUMBERS[:20000]  # MPICH's Hydra aborts if a rank does not read more than a pipe buffer holds
        with tempfile.TemporaryFile() as file:
            file.write(text)
            for kind in KINDS:
                with self.subTest(mpi=kind):
                    file.seek(0)
                    run = self.start("--mpi", kind, "--oversubscribe", "-n", 3, "sh", "-c", "echo $RANK $(wc -c)", stdin=file).wait()
                    self.assertEqual(run.lines, [f"0 {len(text)}", "1 0", "2 0"], run.errors)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount") and shutil.which("unshare")
                     and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0, "needs mounts")
class FullDisks(Case):
    """A file system of 1 MiB in a separate mount namespace."""

    def start_on_small_disk(self, script, *arguments, environment=None):
        folder = tempfile.mkdtemp()
        self.addCleanup(os.rmdir, folder)
        prepare = f"mount -t tmpfs -o size=1m none {folder} && cd {folder} && {script}"
        return self.start(*arguments, before=["unshare", "-m", "sh", "-c", prepare, folder], environment=environment), folder

    def test_a_full_log_disk_is_reported_and_does_not_end_the_job(self):
        run, folder = self.start_on_small_disk('program=$1; shift 3; exec "$program" --log-dir $0 "$@"', *ONE, "seq", "1", "600000")
        run.wait()
        self.assertEqual(run.code, 0, run.errors)
        self.assertEqual(run.output.encode(), NUMBERS)
        self.assertRegex(run.errors, r"DDL-3-50 Cannot write \S+/rank-0\.log: No space left on device\.")

    def test_a_full_disk_under_standard_output_is_reported_and_does_not_end_the_job(self):
        run, folder = self.start_on_small_disk('exec "$@" >$0/output', *ONE, "sh", "-c", "seq 1 600000; echo done >&2")
        run.wait()
        self.assertRegex(run.errors, r"DDL-3-51 Standard output cannot be written: No space left on device\.")
        self.assertIn("done\n", run.errors)
        self.assertEqual(run.code, 1)
        self.assertEqual((run.run_folder / "rank-0.log").read_bytes().replace(b"done\n", b""), NUMBERS)

    def test_a_full_temporary_folder_is_reported_before_anything_starts(self):
        script = 'program=$1; shift 3; dd if=/dev/zero of=$0/fill bs=4k 2>/dev/null; TMPDIR=$0 exec "$program" "$@"'
        run, folder = self.start_on_small_disk(script, *ONE, "echo", "started")
        run.wait()
        self.assertRegex(run.errors, r"DDL-3-(39 Cannot write|18 Cannot create|38 ).*No space left on device")
        self.assertEqual((run.code, run.output), (2, ""))

    def test_check_reports_free_space(self):
        run, folder = self.start_on_small_disk('program=$1; shift 3; TMPDIR=$0 exec "$program" "$@"', "--check")
        run.wait()
        self.assertRegex(run.output, rf"DDL-3-37 \S+ has \d\.\d MiB free in {folder}")
        self.assertRegex(run.output, rf"{os.uname().nodename} +1 +\d+  {folder}\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "--verbose"])
