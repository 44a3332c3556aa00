#!/usr/bin/python3
"""The architecture as a table: which folder may include which, and where names from outside may appear.

  tools/check_layers.py [ROOT]      one line per broken rule; exit 1 if there is any
"""

import re
import sys
from pathlib import Path

import source_tree

# Component -> components it may include. Lowest level first; whoever is not named here may not exist under tutti/.
MAY_INCLUDE = {
    "core": [],
    "auth": ["core"],
    "io": ["core"],
    "plot": ["core"],
    "topo": ["core"],
    "plan": ["topo", "core"],
    "comm": ["plan", "topo", "auth", "core"],
    "sim": ["plan", "topo", "core"],
    "launch": ["topo", "auth", "core"],
    "learn": ["comm", "io", "core"],
    "lms": ["core"],
    "torch_backend": ["comm", "core"],
    "train": ["torch_backend", "comm", "lms", "topo", "plot", "io", "core"],
    "models": ["train", "plot", "core"],
}

# Beginnings of include names from outside -> the only folders under tutti/ and python/ that may use them.
OUTSIDE = {
    r"mpi\.h|mpi/|mpi-ext\.h": ["tutti/comm/transport/mpi"],
    r"hwloc\.h|hwloc/": ["tutti/topo"],
    r"cuda|nccl": ["tutti/comm/transport/nccl"],
    r"simgrid/|xbt/|smpi/": ["tutti/sim"],
    r"torch/|ATen/|c10/|c10d/|caffe2/": [
        "tutti/torch_backend", "tutti/lms/hooks", "tutti/train", "tutti/models", "python/bindings"],
    r"hdf5\.h|H5": ["tutti/io", "tutti/train/data", "tutti/learn/data"],
    r"sodium": ["tutti/auth"],
    r"liburing": ["tutti/learn/data/internal", "tutti/lms/pager"],
    r"fastjet/": ["tutti/models/science/hep"],
    r"pybind11/": ["python/bindings"],
    r"boost/beast|httplib": ["tutti/console", "tutti/vision"],
    r"gloo/": [],
}

# These put the parts together or measure them against others, so they may include everything.
FREE = ("apps", "bench", "examples", "tests")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def is_inside(path, folder):
    return path.as_posix().startswith(folder + "/")


def outside_trouble(path, name):
    for pattern, rooms in OUTSIDE.items():
        if re.match(pattern, name) and not any(is_inside(path, room) for room in rooms):
            return f"<{name}> may be used only in {', '.join(rooms) or 'bench and tests'}"
    return None


def inside_trouble(path, name):
    """What is wrong with the include of our own header `name` by the file `path`, or None."""
    target = Path(name)
    if "internal" in target.parts:
        owner = Path(*target.parts[: target.parts.index("internal")])
        if not is_inside(path, owner.as_posix()):
            return f"{name} is private to {owner}"
    if path.parts[0] != "tutti" or len(target.parts) < 3:
        return None
    source, wanted = path.parts[1], target.parts[1]
    if source == wanted or wanted in MAY_INCLUDE.get(source, []):
        return None
    return f"{source} may not include {wanted} ({name})"


def troubles_of(root, path):
    text = (root / path).read_text(encoding="utf-8")
    if path.parts[0] == "tutti" and path.parts[1] not in MAY_INCLUDE:
        yield f"{path}: the table has no component {path.parts[1]}; add it to tools/check_layers.py and the design"
        return
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        trouble = None
        if name.startswith("tutti/"):
            trouble = inside_trouble(path, name)
        elif quote == '"' and (root / path.parent / name).exists() and not (root / name).exists():
            trouble = f'"{name}" must be written with its whole path'
        if path.parts[0] not in FREE:
            trouble = trouble or outside_trouble(path, name)
        if trouble:
            line = text.count("\n", 0, match.start(2)) + 1
            yield f"{path}:{line}: {trouble}"


def check(root):
    """All broken rules below `root`, as sentences that start with the place."""
    paths = [path for path in source_tree.files(root, source_tree.CXX) if len(path.parts) > 1]
    return [trouble for path in paths for trouble in troubles_of(root, path)], len(paths)


def main():
    troubles, count = check(Path(sys.argv[1]) if len(sys.argv) > 1 else source_tree.ROOT)
    print("\n".join(troubles + [f"check_layers: {count} files, {len(troubles)} broken rules"]))
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
