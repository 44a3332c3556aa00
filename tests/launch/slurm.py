"""A Slurm with one node and several slots, started for tests."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SKIPPED = 77
SLOTS = 4
READY_SECONDS = 30

CONFIGURATION = """
ClusterName=tutti
SlurmctldHost={host}
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SlurmdParameters=config_overrides
NodeName={host} CPUs={slots} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def free_port():
    with socket.socket() as one:
        one.bind(("", 0))
        return one.getsockname()[1]


class Slurm:
    """munged, slurmctld and slurmd with all files in a separate directory."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tutti-slurm-", dir="/run"))
        self.folder.chmod(0o755)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, folder=self.folder, slots=SLOTS, controller_port=free_port(), node_port=free_port()))
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o400)
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self.daemons = []

    def start(self):
        munge = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        self.daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *munge)
        self.wait_for(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.daemon("slurmctld", "-D", "-i", "-f", self.folder / "slurm.conf")
        self.daemon("slurmd", "-D", "-f", self.folder / "slurm.conf")
        self.wait_for(lambda: "idle" in self.command("sinfo", "-h", "-o", "%t"), "an idle node")

    def daemon(self, name, *arguments):
        program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        with open(self.folder / f"{name}.out", "w") as out:
            self.daemons.append(subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                 env={**os.environ, **self.environment}))

    def command(self, *arguments):
        done = subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, **self.environment}, timeout=20)
        return done.stdout

    def wait_for(self, condition, what):
        deadline = time.monotonic() + READY_SECONDS
        while not condition():
            if time.monotonic() > deadline or any(daemon.poll() is not None for daemon in self.daemons):
                output = "".join(path.read_text(errors="replace")[-600:] for path in self.folder.glob("*.out"))
                raise RuntimeError(f"no {what}: {output}")
            time.sleep(0.05)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_tests(programs):
    """Runs the tests of the calling program with Slurm; exits with SKIPPED and a message if it is missing.

    ``run_tests.slurm`` is the running Slurm. ``programs`` are those that the tests need besides the daemons.
    """
    programs = ("munged", "slurmctld", "slurmd", *programs)
    lacking = [name for name in programs if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]
    if lacking or os.geteuid() != 0:
        print(f"skipped: no {', '.join(lacking) or 'root'}; Debian has slurmctld, slurmd, slurm-client and munge")
        sys.exit(SKIPPED)
    run_tests.slurm = slurm = Slurm()
    try:
        slurm.start()
    except (RuntimeError, subprocess.TimeoutExpired) as trouble:
        print(f"skipped: Slurm cannot be started here: {trouble}")
        slurm.stop()
        sys.exit(SKIPPED)
    try:
        result = unittest.main(argv=[sys.argv[0], "--verbose"], exit=False).result
    finally:
        slurm.stop()
    sys.exit(0 if result.wasSuccessful() else 1)
