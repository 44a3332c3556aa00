"""A testbed for one test program, named after the process id, so several tests can run at the same time."""

import os
import subprocess
import sys
from pathlib import Path

TESTBED = Path(__file__).resolve().parents[2] / "scripts/testbed"
NAME = f"test{os.getpid()}"
NOT_ALLOWED = 3
SKIPPED = 77


def testbed(action, *words, check=True, seconds=60):
    command = [TESTBED, action, "--name", NAME, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def on(host, *command, seconds=60):
    """Runs a command on a host and returns its output."""
    return testbed("exec", host, "--", *command, seconds=seconds).stdout.strip()


def exit_where_not_allowed():
    allowed = testbed("check", check=False)
    if allowed.returncode == NOT_ALLOWED:
        print(f"skipped: {allowed.stderr.strip()}")
        sys.exit(SKIPPED)
