"""Which files the checks look at: the working tree without build folders and hidden ones."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CXX = (".h", ".cc")


def files(root, suffixes):
    """Paths below `root`, relative to it and sorted, whose names end in one of `suffixes`."""
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if not name.startswith((".", "build")) and name != "__pycache__"]
        found += [Path(folder, name).relative_to(root) for name in names if name.endswith(suffixes)]
    return sorted(found)


def is_test(path):
    """Unit tests beside the sources with their helpers (test_*.h), and everything below tests/."""
    return path.stem.endswith("_test") or path.name.startswith("test_") or path.parts[0] == "tests"
