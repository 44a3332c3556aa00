"""Lets `pytest python/tests` work from a plain build: build/python goes on the path, also of the ranks that tests start."""

import contextlib
import importlib.util
import io
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

BUILT = Path(__file__).resolve().parents[2] / "build/python"
found = importlib.util.find_spec("tutti")  # without an origin: the folder of that name in the source
if (found is None or found.origin is None) and BUILT.exists():
    sys.path.insert(0, str(BUILT))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(BUILT), os.environ.get("PYTHONPATH")]))


@pytest.fixture
def ctrl_c():
    """Sends SIGINT to this process after so many seconds. A program that a shell started in the background ignores it: not here."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda seconds: threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    signal.signal(signal.SIGINT, before)


class InterruptedOutput(io.StringIO):
    """Takes the place of stdout or stderr: the first line is written while Ctrl-C is pressed."""

    is_pressed = False

    def write(self, text):
        if not self.is_pressed:
            self.is_pressed = True
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


@pytest.fixture
def ctrl_c_in_output(ctrl_c):
    """A context in which SIGINT comes while Python writes the first line of progress."""

    @contextlib.contextmanager
    def press():
        output = InterruptedOutput()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            yield
        assert output.getvalue().count("\n") < 3

    return press
