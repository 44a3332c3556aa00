"""Jobs of fault_rank for the tests: ranks as plain processes or under mpirun, on one host or on emulated hosts."""

import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
from functools import cached_property
from pathlib import Path

TIMEOUT = 20  # s; a process that takes longer hangs


def wait_until(condition, what):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {TIMEOUT} s for {what}")
        time.sleep(0.01)


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Job:
    """A running job. `program`: command line of a rank. `hosts`: emulated host of each rank; all equal: one host."""

    over_tcp = False  # plain processes communicate as if they were on several hosts

    def __init__(self, program, hosts, scenario, options="", mpirun=None):
        self.hosts = hosts
        self.folder = tempfile.TemporaryDirectory(prefix="tutti-faults-")
        self.run_folder = Path(self.folder.name, "run")
        command = [*program, scenario, options]
        self.children = []
        if mpirun:
            arguments = list(mpirun)
            for rank, host in enumerate(hosts):
                arguments += [":"] * (rank > 0) + ["-n", "1", "-x", f"TUTTI_HOST_ID={host}"] + command
            self.start(arguments, {}, 0)
        else:
            for rank, host in enumerate(hosts):
                self.start(command, {"RANK": str(rank), "WORLD_SIZE": str(len(hosts)), "TUTTI_HOST_ID": host, **self.meeting()}, rank)

    @cached_property
    def port(self):
        while True:  # below the ephemeral port range
            with socket.socket() as free:
                try:
                    free.bind(("", random.randrange(20000, 32000)))
                    return free.getsockname()[1]
                except OSError:
                    pass

    def meeting(self):
        if not self.over_tcp:
            return {}
        return {"LOCAL_WORLD_SIZE": str(self.hosts.count(self.hosts[0])), "MASTER_ADDR": "localhost", "TUTTI_PORT": str(self.port)}

    def start(self, arguments, environment, index):
        environment = dict(os.environ, TUTTI_JOB=self.folder.name, TUTTI_RUN_FOLDER=str(self.run_folder), **environment)
        with open(self.path("out", index), "w") as out, open(self.path("err", index), "w") as err:
            self.children.append(subprocess.Popen(arguments, stdout=out, stderr=err, env=environment, cwd=self.folder.name))

    def path(self, kind, index):
        return Path(self.folder.name, f"{kind}{index}")

    def text(self, kind, index=None):
        """Returns the output of one child or of all."""
        indices = range(len(self.children)) if index is None else [index]
        return "".join(self.path(kind, i).read_text(errors="replace") for i in indices)

    def processes(self):
        """Returns process ids by rank, once all ranks have reported that they are ready."""
        found = lambda: dict(re.findall(r"^ready (\d+) (\d+)$", self.text("out"), re.MULTILINE))
        wait_until(lambda: len(found()) == len(self.hosts), f"all ranks to be ready: {self.text('err')}")
        return {int(rank): int(process) for rank, process in found().items()}

    def send(self, number, rank=1):
        os.kill(self.processes()[rank], number)

    def wait_for(self, text):
        wait_until(lambda: text in self.text("err"), f"'{text}': {self.text('err')}")

    def end_codes(self):
        """Waits for all processes; returns the exit reports of the ranks, by rank."""
        for child in self.children:
            try:
                child.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"a rank hangs: {self.text('out')} {self.text('err')}") from None
        return {int(rank): int(code) for rank, code in re.findall(r"^end (\d+) (\d+)$", self.text("out"), re.MULTILINE)}

    def close(self):
        for process in re.findall(r"^ready \d+ (\d+)$", self.text("out"), re.MULTILINE):
            if is_alive(process):
                os.kill(int(process), signal.SIGKILL)
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.folder.cleanup()
