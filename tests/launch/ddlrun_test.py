#!/usr/bin/python3
"""ddlrun on this machine: ranks that succeed, fail, hang and are killed; errors are reported and nothing is left behind.

  ddlrun_test.py DDLRUN [MPI ...]    MPI: openmpi, mpich, none
"""

import json
import os
import re
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

from ddlrun import Run

DDLRUN, KINDS = Path(sys.argv[1]).resolve(), sys.argv[2:] or ["none"]
SHOW = 'echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE"'
ONE = ("--oversubscribe", "-n", 1)
# A job of three ranks on any number of cores.
THREE = ("--oversubscribe", "-n", 3)
# Ignores SIGTERM, and starts a daemon that does so too.
STUBBORN = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 1000; sleep 1000\" &); echo ready; sleep 1000; sleep 1000"


class Case(unittest.TestCase):
    def start(self, *arguments, **settings):
        run = Run(DDLRUN, *arguments, **settings)
        self.addCleanup(run.close)
        return run

    def run_to_end(self, *arguments, **settings):
        return self.start(*arguments, **settings).wait()

    def over_kinds(self):
        for kind in KINDS:
            with self.subTest(mpi=kind):
                yield kind


class Ranks(Case):
    def test_no_option_at_all(self):
        run = self.run_to_end("sh", "-c", SHOW)
        size = len(run.lines)
        self.assertEqual(run.lines, sorted(f"{rank} {size} {rank} {size}" for rank in range(size)), run.errors)
        self.assertEqual(run.code, 0)
        self.assertRegex(run.errors, r"(?m)^\+ mpirun\S* .*--agent sh -c")

    def test_three_ranks(self):
        for kind in self.over_kinds():
            run = self.run_to_end("--mpi", kind, *THREE, "sh", "-c", SHOW)
            self.assertEqual(run.lines, [f"{rank} 3 {rank} 3" for rank in range(3)], run.errors)

    def test_sets_the_environment_that_scripts_expect(self):
        show = 'test $RANK = 0 && env'
        run = self.run_to_end(*THREE, "-m", "b", "-ddlarg", "-dump_iter 7", "-x", "MINE=a b", "sh", "-c", f"{show}; true",
                              environment={"VIRTUAL_ENV": "/my/venv"})
        values = dict(line.split("=", 1) for line in run.output.splitlines() if "=" in line)
        host = os.uname().nodename
        self.assertEqual(values["DDL_OPTIONS"], "-mode b:3x1x1x1 -dump_iter 7")
        self.assertEqual(values["DDL_HOST_LIST"], f"{host}:0,1,2")
        self.assertEqual(values["MASTER_ADDR"], "127.0.0.1")
        self.assertEqual(values["MINE"], "a b")
        self.assertEqual(values["VIRTUAL_ENV"], "/my/venv")
        self.assertGreater(int(values["MASTER_PORT"]), 0)
        self.assertEqual(values["TUTTI_RUN_FOLDER"], str(run.run_folder))
        self.assertNotIn("TUTTI_WATCH", values)

    def test_a_job_inside_a_job_is_a_separate_one(self):
        outer = 'echo outer $MASTER_PORT $TUTTI_RUN_FOLDER $TUTTI_JOB_SECRET'
        inner = 'echo inner $MASTER_PORT $TUTTI_RUN_FOLDER $TUTTI_JOB_SECRET $RANK $WORLD_SIZE $DDL_OPTIONS'
        for kind in self.over_kinds():
            for nested in KINDS:
                with self.subTest(outer=kind, inner=nested):
                    command = f"{DDLRUN} --mpi {nested} --log-dir $FOLDER --oversubscribe -n 2 sh -c '{inner}'"
                    with tempfile.TemporaryDirectory() as folder:
                        run = self.run_to_end("--mpi", kind, *ONE, "sh", "-c", f"FOLDER={folder}; {outer}; {command}")
                    self.assertEqual(run.code, 0, run.errors)
                    lines = [line.split(" ", 4) for line in run.lines]
                    (one,) = (line for line in lines if line[0] == "outer")
                    two = [line for line in lines if line[0] == "inner"]
                    self.assertEqual([line[4] for line in two], ["0 2 -mode p:2x1x1x1", "1 2 -mode p:2x1x1x1"], run.errors)
                    for variable in (1, 2, 3):
                        self.assertNotIn(one[variable], [line[variable] for line in two])

    def test_no_ddloptions(self):
        run = self.run_to_end(*THREE, "-no_ddloptions", "sh", "-c", "echo [$DDL_OPTIONS]")
        self.assertEqual(run.lines, ["[]"] * 3)

    def test_output_is_tagged_on_demand_and_kept_by_rank(self):
        for kind in self.over_kinds():
            run = self.run_to_end("--mpi", kind, "--tag-output", *THREE, "sh", "-c", "echo out $RANK; echo err $RANK >&2")
            host = os.uname().nodename
            self.assertEqual(run.lines, [f"[{rank} {host}] out {rank}" for rank in range(3)])
            for rank in range(3):
                self.assertIn(f"[{rank} {host}] err {rank}\n", run.errors)
                self.assertEqual(sorted((run.run_folder / f"rank-{rank}.log").read_text().splitlines()), [f"err {rank}", f"out {rank}"])

    def test_lines_are_printed_immediately_and_long_output_completely(self):
        run = self.run_to_end(*THREE, "sh", "-c", "seq 1 20000; printf 'no newline at the end'")
        self.assertEqual(run.output.count("\n20000\n"), 3)
        self.assertEqual(run.output.count("no newline at the end"), 3)
        for rank in range(3):
            log = (run.run_folder / f"rank-{rank}.log").read_text()
            self.assertEqual(log, "".join(f"{i}\n" for i in range(1, 20001)) + "no newline at the end")
        self.assertEqual(len(run.output), 3 * len(log))
        python = "import sys, time; print('first', flush=False); time.sleep(1000)"
        run = self.start(*THREE, "/usr/bin/python3", "-c", python)
        run.wait_for("first", 3)
        self.assertEqual(run.output.count("first\n"), 3, run.errors)
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait().code, 128 + signal.SIGTERM)

    def test_python_scripts(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "train.py").write_text("import os; print('trained by', os.environ['RANK'])\n")
            for arguments in (["train.py"], ["/usr/bin/python3", "train.py"]):
                run = self.run_to_end(*THREE, *arguments, folder=folder)
                self.assertEqual(run.lines, [f"trained by {rank}" for rank in range(3)], run.errors)

    def test_the_run_directory_is_complete(self):
        run = self.run_to_end(*THREE, "true")
        folder = run.run_folder
        self.assertIn("rank 2=", (folder / "RANKFILE").read_text())
        self.assertTrue((folder / "topology").read_text().startswith("tutti machine 1\n"))
        command = (folder / "command").read_text()
        self.assertIn("--agent true\n", command)
        self.assertNotIn("export TUTTI_WATCH", command)
        events = [json.loads(line) for line in (folder / "events-launcher.jsonl").read_text().splitlines()]
        kinds = [event["kind"] for event in events]
        self.assertEqual(kinds[0], "launch")
        self.assertEqual(kinds[-1], "job_end")
        self.assertEqual((kinds.count("rank_start"), kinds.count("rank_end")), (3, 3))

    def test_ranks_are_pinned_to_separate_cores(self):
        cores = len(os.sched_getaffinity(0))
        for kind in self.over_kinds():
            run = self.run_to_end("--mpi", kind, "sh", "-c", "grep Cpus_allowed_list /proc/self/status")
            self.assertEqual(len(set(run.lines)), len(run.lines), run.output)
            self.assertLessEqual(len(run.lines), cores)


class Failures(Case):
    def test_the_first_rank_that_fails_is_named(self):
        for kind in self.over_kinds():
            run = self.run_to_end("--mpi", kind, *THREE, "sh", "-c", "test $RANK = 1 || exec sleep 1000; echo last words; exit 7")
            self.assertEqual(run.code, 7)
            self.assertRegex(run.errors, r"DDL-3-40 Rank 1 on \S+ ended with exit code 7\. Its last lines \(.*rank-1\.log\):\n    last words\n")
            self.assertEqual(run.left_behind(), [])

    def test_others_may_report_before_they_are_ended(self):
        script = """
            case $RANK in
              1) echo $$ > $FOLDER/new; mv $FOLDER/new $FOLDER/process; while ! test -e $FOLDER/seen; do sleep 0.01; done; exit 7 ;;
              2) while ! test -e $FOLDER/process; do sleep 0.01; done; touch $FOLDER/seen
                 while kill -0 $(cat $FOLDER/process); do sleep 0.01; done 2>/dev/null; echo my neighbour has exited; exit 5 ;;
              *) exec sleep 1000 ;;
            esac"""
        for kind in self.over_kinds():
            with tempfile.TemporaryDirectory() as folder:
                run = self.run_to_end("--mpi", kind, *THREE, "sh", "-c", f"FOLDER={folder}; {script}")
            self.assertIn("my neighbour has exited", run.lines)
            self.assertRegex(run.errors, r"DDL-3-40 Rank 1 on \S+ ended with exit code 7")
            self.assertEqual(run.code, 7)
            self.assertEqual(run.left_behind(), [])

    def test_a_rank_that_left_early_is_named_too(self):
        script = """
            if test $RANK = 1; then
              echo $$ > $FOLDER/new; mv $FOLDER/new $FOLDER/process; while ! test -e $FOLDER/seen; do sleep 0.01; done; exit 0
            fi
            while ! test -e $FOLDER/process; do sleep 0.01; done; touch $FOLDER/seen
            while kill -0 $(cat $FOLDER/process); do sleep 0.01; done 2>/dev/null; exit 5"""
        for kind in self.over_kinds():
            with tempfile.TemporaryDirectory() as folder:
                run = self.run_to_end("--mpi", kind, *THREE, "sh", "-c", f"FOLDER={folder}; {script}")
            self.assertRegex(run.errors, r"DDL-3-40 Rank [02] on \S+ ended with exit code 5")
            self.assertRegex(run.errors, r"ddlrun: rank 1 on \S+ had ended by itself, with exit code 0\.")
            self.assertEqual(run.code, 5)

    def test_a_killed_rank_is_named_with_its_signal(self):
        for kind in self.over_kinds():
            run = self.start("--mpi", kind, *THREE, "sh", "-c", "echo process $RANK $$; exec sleep 1000")
            run.wait_for(r"process \d \d+\n", 3)
            victim = int(re.search(r"process 2 (\d+)", run.output).group(1))
            os.kill(victim, signal.SIGKILL)
            run.wait()
            self.assertEqual(run.code, 128 + signal.SIGKILL)
            self.assertRegex(run.errors, r"DDL-3-41 Rank 2 on \S+ was killed by signal 9 \(Killed\)")
            self.assertEqual(run.left_behind(), [])

    def end_of_stubborn_ranks(self, kind, end, *options):
        run = self.start("--mpi", kind, *THREE, *options, "sh", "-c", STUBBORN)
        run.wait_for("ready", 3)
        begin = time.monotonic()
        end(run)
        run.wait()
        self.assertEqual(run.left_behind(), [])
        print(f"{kind}: ended after {time.monotonic() - begin:.2f} s")
        return run

    def test_ctrl_c_ends_everything(self):
        for kind in self.over_kinds():
            run = self.end_of_stubborn_ranks(kind, lambda run: run.process.send_signal(signal.SIGINT))
            self.assertEqual(run.code, 130)
            self.assertIn("DDL-3-45", run.errors)

    def test_the_timeout_ends_everything(self):
        run = self.end_of_stubborn_ranks(KINDS[0], lambda run: None, "--timeout", 2)
        self.assertEqual(run.code, 124)
        self.assertIn("DDL-3-44", run.errors)

    def test_ranks_end_when_ddlrun_is_killed(self):
        for kind in self.over_kinds():
            self.end_of_stubborn_ranks(kind, lambda run: run.process.send_signal(signal.SIGKILL))

    def test_ranks_end_when_mpirun_is_killed(self):
        def kill_mpirun(run):
            children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGKILL)

        for kind in self.over_kinds():
            run = self.end_of_stubborn_ranks(kind, kill_mpirun)
            self.assertNotEqual(run.code, 0)
            self.assertIn("DDL-3-43", run.errors)

    def test_restarts(self):
        script = "echo try $DDL_RESTART_COUNT; test $DDL_RESTART_COUNT = 2 || exit 3"
        run = self.run_to_end("--max-restarts", 2, *THREE, "sh", "-c", script)
        self.assertEqual(run.code, 0, run.errors)
        self.assertEqual(run.output.count("try 2"), 3)
        self.assertEqual(run.errors.count("DDL-3-40"), 2)
        self.assertIn("DDL-3-47 restart 2 of 2", run.errors)
        run = self.run_to_end("--max-restarts", 1, *THREE, "sh", "-c", "exit 3")
        self.assertEqual(run.code, 3)
        self.assertEqual(run.errors.count("DDL-3-40"), 2)

    def test_a_reader_that_leaves_ends_the_job(self):
        run = self.start(*THREE, "sh", "-c", "while echo y; do :; done", before=["sh", "-c", '"$@" | head -1', "sh"])
        run.wait()
        self.assertEqual(run.left_behind(), [])


class BadInput(Case):
    """Invalid requests: errors with a code, exit code 2, and no process started."""

    def check(self, code, *arguments, **settings):
        with self.subTest(arguments=arguments):
            run = self.run_to_end(*arguments, **settings)
            self.assertIn(code, run.errors)
            self.assertEqual(run.code, 2, run.errors)
            self.assertEqual(run.output, "")
            self.assertFalse(run.has_started())

    def test_hosts(self):
        self.check("DDL-3-20", "-H", "no-such-host.invalid", "echo")
        self.check("DDL-3-06", "-H", "a,b,a", "echo")
        self.check("DDL-3-06", "-H", f"localhost,{os.uname().nodename}", "echo")
        self.check("DDL-3-05", "-H", "a,,b", "echo")
        self.check("DDL-3-05", "-H", "", "echo")
        self.check("DDL-3-04", "-hostfile", "/no/such/file", "echo")
        self.check("DDL-3-04", "-hostfile", "/dev/null", "echo")
        self.check("DDL-3-07", "echo", environment={"PBS_NODEFILE": "/no/such/file"})
        self.check("DDL-3-05", "echo", environment={"SLURM_JOB_NODELIST": "n[1-"})

    def test_numbers(self):
        cores = len(os.sched_getaffinity(0))
        self.check("DDL-3-09", "-n", 4 * cores, "echo")
        self.check("DDL-3-12", "-cores", 100000, "echo")
        self.check("DDL-3-12", "-sockets", 100000, "echo")
        self.check("DDL-3-08", "-racks", 2, "echo")
        for option, value in (("-n", "many"), ("-n", "0"), ("-n", "-3"), ("-aisles", "1.5"), ("--timeout", "-1"), ("--max-restarts", "x")):
            self.check("DDL-1-03", option, value, "echo")

    def test_options(self):
        self.check("DDL-1-04", "--no-such-option", "echo")
        self.check("DDL-3-02", "-n")
        self.check("DDL-3-03", "-H", "a", "-hostfile", "b", "echo")
        self.check("DDL-1-28", "-m", "q", "echo")
        self.check("DDL-3-15", "-m", "p:7x5", "echo")
        self.check("DDL-1-05", "-ddlarg", "-dump_iter", "echo")
        self.check("DDL-1-04", "-ddlarg", "-no_such 1", "echo")
        self.check("DDL-3-16", "-x", "NO_SUCH_VARIABLE", "echo")
        self.check("DDL-3-02", "-mpiarg", "'not closed", "echo")
        self.check("DDL-3-18", "--log-dir", "/dev/null/x", "echo")

    def test_programs(self):
        self.check("DDL-3-01")
        self.check("DDL-3-01", "")
        self.check("DDL-3-27", "no-such-program")
        self.check("DDL-3-27", "/etc/passwd")
        self.check("DDL-3-27", "/usr/bin/python3", "no_such_script.py")

    def test_rankfiles(self):
        host = os.uname().nodename
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "ranks")
            self.check("DDL-3-10", "-rf", path, "echo")
            for text, code in (("", "DDL-3-10"), ("rank 0=\n", "DDL-3-10"), (f"rank 1={host} slot=0:0\n", "DDL-3-10"),
                               (f"rank 0={host} slot=0:4000\n", "DDL-3-11"), (f"rank 0={host} slot=99:0\n", "DDL-3-11")):
                path.write_text(text)
                self.check(code, "-rf", path, "echo")
            path.write_text(f"rank 0={host} slot=0:0\n")
            self.check("DDL-3-11", "-H", "other", "-rf", path, "echo")
            self.check("DDL-3-11", "-n", 2, "-rf", path, "echo")

    def test_topologies(self):
        self.check("DDL-3-19", "--topology", "/no/such/file", "echo")
        self.check("DDL-2-14", "--topology", "/etc/passwd", "echo")
        with tempfile.NamedTemporaryFile("w") as machine:  # of more sockets than any machine has
            machine.write("tutti machine 1\nname = x\nmemory = 1GiB\n" + "".join(f"[socket]\ncores = {n}\n" for n in range(64)))
            machine.flush()
            self.check("DDL-3-11", "--topology", machine.name, "echo")

    def test_no_mpi(self):
        self.check("DDL-3-13", "echo", environment={"PATH": "/nowhere"})
        self.check("DDL-3-14", "--mpi", "none", "-H", "a,b", "echo")


class Shows(Case):
    def test_dry_run_of_four_hosts_is_the_known_rankfile(self):
        top = Path(__file__).resolve().parents[2]
        run = self.run_to_end("--dry-run", "--topology", top / "examples/02_launch/power9.machine", "-H", "host1,host2,host3,host4", "-mpi", "openmpi",
                              "python", "train.py")
        self.assertEqual(run.code, 0, run.errors)
        self.assertTrue(run.output.startswith((top / "tutti/launch/testdata/four_hosts.rankfile").read_text()))
        self.assertIn("\nDDL_OPTIONS=-mode p:4x4x1x1\n", run.output)
        self.assertRegex(run.output, r"\n\+ mpirun .*--rankfile RANKFILE -n 16 .*--agent python\d? train.py\n$")
        self.assertFalse(run.has_started())

    def test_a_rankfile_of_the_user(self):
        host = os.uname().nodename
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "ranks")
            path.write_text(f"rank 0={host} slot=0:0\n")
            run = self.run_to_end("-rf", path, "sh", "-c", SHOW)
        self.assertEqual(run.output, "0 1 0 1\n", run.errors)

    def test_check_of_this_machine(self):
        run = self.run_to_end("--check")
        self.assertEqual(run.code, 0, run.output + run.errors)
        self.assertIn("ok      DDL-3-29 the same hardware everywhere", run.output)
        self.assertEqual(self.run_to_end("--check", "-H", "no-such-host.invalid").code, 2)

    def test_pages(self):
        self.assertRegex(self.run_to_end("--version").output, r"^ddlrun \d+\.\d+\.\d+\n$")
        self.assertIn("usage: ddlrun", self.run_to_end("-h").output)
        self.assertIn("complete -o default", self.run_to_end("--print", "completion").output)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "--verbose"])
