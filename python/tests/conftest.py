"""Lets `pytest python/tests` work from a plain build: build/python goes on the path, also of the ranks that tests start."""

import importlib.util
import os
import sys
from pathlib import Path

BUILT = Path(__file__).resolve().parents[2] / "build/python"
found = importlib.util.find_spec("tutti")  # without an origin: the folder of that name in the source
if (found is None or found.origin is None) and BUILT.exists():
    sys.path.insert(0, str(BUILT))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(BUILT), os.environ.get("PYTHONPATH")]))
