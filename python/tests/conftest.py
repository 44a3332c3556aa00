"""Adds build/python to the path, also for ranks that tests start, so `pytest python/tests` works from a plain build."""

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
found = importlib.util.find_spec("tutti")  # no origin: a namespace package, the source directory of that name
if (found is None or found.origin is None) and BUILT.exists():
    sys.path.insert(0, str(BUILT))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(BUILT), os.environ.get("PYTHONPATH")]))


@pytest.fixture
def ctrl_c():
    """Function that sends SIGINT to this process after N seconds. Enables SIGINT, which background processes ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda seconds: threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    signal.signal(signal.SIGINT, before)


class InterruptedOutput(io.StringIO):
    """Replacement for stdout or stderr that raises SIGINT while the first line is written."""

    is_pressed = False

    def write(self, text):
        if not self.is_pressed:
            self.is_pressed = True
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


@pytest.fixture
def ctrl_c_in_output(ctrl_c):
    """Context manager in which SIGINT arrives while Python writes the first line of progress."""

    @contextlib.contextmanager
    def press():
        output = InterruptedOutput()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            yield
        assert output.getvalue().count("\n") < 3

    return press
