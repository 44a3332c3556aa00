"""Files that the checks read: the working tree without build directories and hidden files."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CXX = (".h", ".cc")


def files(root, suffixes):
    """Returns the sorted paths below `root`, relative to it, whose names end in one of `suffixes`."""
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if not name.startswith((".", "build")) and name != "__pycache__"]
        found += [Path(folder, name).relative_to(root) for name in names if name.endswith(suffixes)]
    return sorted(found)


def is_test(path):
    """Returns whether a file is a unit test, a helper of one (test_*.h), or below tests/."""
    return path.stem.endswith("_test") or path.name.startswith("test_") or path.parts[0] == "tests"
