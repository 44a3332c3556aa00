"""Starts ddlrun for tests, reads its output, and finds leftover processes."""

import os
import re
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

TIMEOUT = 60  # s; a process that takes longer hangs
LISTENING = "0A"  # state of a socket in /proc/net/tcp


def wait_until(condition, what):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {TIMEOUT} s for {what}")
        time.sleep(0.01)


def processes_with(mark):
    """Returns the running processes whose environment contains the mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (path / "environ").read_bytes() and "State:\tZ" not in (path / "status").read_text():
                found.append(int(path.name))
        except OSError:
            pass
    return found


def command_lines_with(mark):
    """Returns the command lines of the processes whose environment contains the mark. Processes may exit meanwhile."""
    lines = []
    for process in processes_with(mark):
        try:
            lines.append(Path(f"/proc/{process}/cmdline").read_bytes())
        except OSError:
            pass
    return lines


def listeners(process):
    """Returns (address, port), in hexadecimal as in /proc/net/tcp, of the listening sockets of a process."""
    inodes = set()
    for path in Path(f"/proc/{process}/fd").iterdir():
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(path)))
        except OSError:
            pass
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in inodes:
                found.append(tuple(fields[1].split(":")))
    return found


class Run:
    """A running ddlrun. `before`: command prefix, for example to enter a host. `out`, `stdin`: files for its streams."""

    def __init__(self, program, *arguments, before=(), environment=None, folder=None, out=None, stdin=subprocess.DEVNULL):
        self.mark = uuid.uuid4().hex
        self.scratch = tempfile.TemporaryDirectory(prefix="tutti-launch-")
        self.logs = Path(self.scratch.name, "logs")
        self.out, self.err = Path(self.scratch.name, "out"), Path(self.scratch.name, "err")
        env = {**os.environ, "DDL_TEST_MARK": self.mark, **(environment or {})}
        options = [] if "--print" in arguments or arguments[:1] == ("--version",) else ["--log-dir", str(self.logs)]
        with open(self.out, "w") as file, open(self.err, "w") as err:
            self.process = subprocess.Popen([*map(str, before), str(program), *options, *map(str, arguments)],
                                            stdout=file if out is None else out, stderr=err, stdin=stdin, env=env, cwd=folder,
                                            start_new_session=True)

    def wait(self):
        try:
            self.code = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"ddlrun hangs: {self.output} {self.errors}") from None
        return self

    @property
    def output(self):
        return self.out.read_text(errors="replace")

    @property
    def errors(self):
        return self.err.read_text(errors="replace")

    @property
    def lines(self):
        return sorted(self.output.splitlines())

    @property
    def run_folder(self):
        (folder,) = self.logs.glob("DDLRUN.*")
        return folder

    def has_started(self):
        return self.logs.exists() and any(self.logs.glob("DDLRUN.*"))

    def wait_for(self, pattern, count=1):
        """Waits until the output has `count` matches of the pattern."""
        wait_until(lambda: len(re.findall(pattern, self.output, re.MULTILINE)) >= count or self.process.poll() is not None, pattern)

    def left_behind(self):
        """Waits for ddlrun and returns the processes of the job that are still running."""
        try:
            wait_until(lambda: not processes_with(self.mark), "the end of all processes")
        except AssertionError:
            return processes_with(self.mark)
        return []

    def close(self):
        for process in processes_with(self.mark):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.scratch.cleanup()
