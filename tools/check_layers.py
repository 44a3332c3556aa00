#!/usr/bin/python3
"""Checks the architecture: allowed includes between libraries, use of external headers, include cycles.

  tools/check_layers.py [ROOT]      prints one line per violation; exit 1 if there are any
  tools/check_layers.py --graph     prints the libraries that each library includes
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

import source_tree

# Library (a directory under tutti/) -> libraries it may include, lowest level first. A file belongs to the library with the
# longest matching path. A name stands for exactly one library, "name/*" for it and all libraries below its directory.
MAY_INCLUDE = {
    "core": [],
    "os": ["core"],
    "runs": ["os", "core"],
    "auth": ["core"],
    "io": ["core"],
    "plot": ["core"],
    "topo": ["os", "core"],
    "plan": ["topo", "core"],
    "comm/base": ["plan", "core"],
    "comm/kernels": ["core"],
    "comm/observe": ["comm/base", "topo", "runs", "os", "core"],
    "comm/transport": ["comm/observe", "comm/kernels", "comm/base", "plan", "topo", "auth", "os", "core"],
    "comm/faults": ["comm/transport", "comm/observe", "comm/base", "topo", "auth", "os", "core"],
    "comm/execution": ["comm/transport", "comm/observe", "comm/kernels", "comm/base", "plan", "topo", "core"],
    "comm/tuning": ["comm/execution", "comm/transport", "comm/base", "plan", "topo", "os", "core"],
    "comm": [
        "comm/tuning", "comm/execution", "comm/faults", "comm/transport", "comm/observe", "comm/kernels", "comm/base", "plan",
        "topo", "auth", "runs", "os", "core"],
    "comm/c_api": ["comm", "comm/faults", "comm/transport", "comm/base", "plan", "core"],
    "fusion": ["comm", "comm/transport", "comm/kernels", "comm/base", "os", "core"],
    "sim": ["plan", "topo", "core"],
    "launch/hosts": ["os", "core"],
    "launch/mpi": ["launch/hosts", "os", "core"],
    "launch/placement": ["launch/hosts", "topo", "os", "core"],
    "launch/net": ["topo", "os", "core"],
    "launch/probe": ["launch/net", "launch/placement", "launch/mpi", "launch/hosts", "topo", "auth", "os", "core"],
    "launch/output": ["runs", "os", "core"],
    "launch/agent": ["launch/net", "launch/placement", "topo", "auth", "runs", "os", "core"],
    "launch/job": ["launch/output", "launch/net", "launch/placement", "auth", "runs", "os", "core"],
    "launch/cli": ["launch/*", "topo", "auth", "runs", "os", "core"],
    "learn/base": ["os", "core"],
    "learn/data": ["learn/base", "comm", "comm/kernels", "io", "os", "core"],
    "learn/glm/design": ["learn/data", "learn/base", "comm", "core"],
    "learn/glm/linalg": ["learn/glm/design", "learn/base", "core"],
    "learn/glm/problem": ["learn/glm/design", "learn/base", "comm", "core"],
    "learn/glm/solvers": [
        "learn/glm/design", "learn/glm/linalg", "learn/glm/problem", "learn/data", "learn/base", "comm", "core"],
    "learn/glm": ["learn/glm/*", "learn/data", "learn/base", "comm", "comm/transport", "core"],
    "learn/tree/model": ["learn/data", "learn/base", "core"],
    "learn/tree/io": ["learn/tree/model", "core"],
    "learn/tree/predict": ["learn/tree/model", "learn/data", "learn/base", "core"],
    "learn/tree/bins": ["learn/data", "learn/base", "comm", "core"],
    "learn/tree/histogram": ["learn/tree/bins", "learn/base", "core"],
    "learn/tree/split": ["learn/tree/histogram", "learn/tree/bins", "learn/base", "core"],
    "learn/tree/grow": [
        "learn/tree/split", "learn/tree/histogram", "learn/tree/bins", "learn/tree/model", "learn/data", "learn/base",
        "comm", "os", "core"],
    "learn/tree/exact": [
        "learn/tree/grow", "learn/tree/split", "learn/tree/histogram", "learn/tree/bins", "learn/tree/model", "learn/data",
        "learn/base", "comm", "core"],
    "learn/tree": ["learn/tree/*", "learn/data", "learn/base", "comm", "comm/transport", "core"],
    "learn/model": ["learn/*", "io", "os", "core"],
    "tune": ["core"],
    "tune/search": ["tune", "core"],
    "tune/prune": ["tune", "core"],
    "tune/importance": ["tune", "core"],
    "tune/store": ["tune/prune", "tune/search", "tune", "os", "core"],
    "tune/run": ["tune/store", "tune/prune", "tune/search", "tune", "runs", "os", "core"],
    "lms": ["plot", "core"],
    "lms/pager": ["lms", "io", "os", "core"],
    "lms/pager/cuda": ["lms/pager", "io", "core"],
    "lms/tiling": [],
    "lms/hooks": ["lms/tiling", "lms/pager", "lms", "io", "os", "core"],
    "torch_backend": ["lms/hooks", "comm", "comm/transport", "core"],
    "train/optim": ["core"],
    "train/run": ["train/optim", "plot", "runs", "os", "core"],
    "train/data": ["train/run", "train/optim", "io", "os", "core"],
    "train": ["lms/hooks", "train/run", "train/optim", "fusion", "comm", "comm/transport", "runs", "os", "core"],
    "kernels": ["core"],
    "models": ["kernels", "train", "train/*", "plot", "runs", "os", "core"],
}

# Prefixes of external include names -> the only directories under tutti/ and python/ that may use them.
EXTERNAL = {
    r"mpi\.h|mpi/|mpi-ext\.h": ["tutti/comm/transport/mpi", "tutti/comm/c_api/mpi"],
    r"hwloc\.h|hwloc/": ["tutti/topo"],
    r"cuda|nccl": ["tutti/comm/transport/nccl", "tutti/lms/pager/cuda"],
    r"simgrid/|xbt/|smpi/": ["tutti/sim"],
    r"torch/|ATen/|c10/|c10d/|caffe2/": [
        "tutti/torch_backend", "tutti/lms/hooks", "tutti/lms/tiling", "tutti/train", "tutti/kernels", "tutti/models",
        "python/bindings"],
    r"hdf5\.h|H5": ["tutti/io", "tutti/train/data", "tutti/learn/data"],
    r"sodium": ["tutti/auth"],
    r"zip\.h": ["tutti/io"],
    r"liburing": ["tutti/io", "tutti/lms/pager"],
    r"nlopt|Eigen/|boost/random": ["tutti/tune/search"],
    r"SQLiteCpp/|sqlite3": ["tutti/tune/store"],
    r"fastjet/": ["tutti/models/science/hep"],
    r"fftw3": ["tutti/models/science/cosmoflow"],
    r"nifti|znzlib": ["tutti/models/vision/unet3d"],
    r"pybind11/": ["python/bindings"],
    r"boost/beast|httplib": ["tutti/console", "tutti/vision"],
    r"gloo/": [],
}

# Programs, benchmarks and tests may include everything.
FREE = ("apps", "bench", "examples", "tests")

# Maximum number of units (x.h with x.cc) under tutti/ in include cycles. Lower it when the count falls; never raise it.
MOST_UNITS_IN_CYCLES = 24

# A row of the table of components in ARCHITECTURE.md: component, dependencies.
ROW = re.compile(r"^\| `(\w+)` \|.*\| ([\w, ]*?) *\| \d \|$", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def is_inside(path, folder):
    return path.as_posix().startswith(folder + "/")


def library_of(path):
    """Returns the library of a path such as tutti/comm/faults/monitor.h, or None."""
    parts = path.parts[1:-1]
    names = ("/".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in MAY_INCLUDE), None)


def is_allowed(source, target):
    if source == target:
        return True
    for name in MAY_INCLUDE[source]:
        if name == target or (name.endswith("/*") and (target + "/").startswith(name[:-1])):
            return True
    return False


def external_violation(path, name):
    for pattern, directories in EXTERNAL.items():
        if re.match(pattern, name) and not any(is_inside(path, directory) for directory in directories):
            return f"<{name}> may be used only in {', '.join(directories) or 'bench and tests'}"
    return None


def internal_violation(path, name):
    """Returns the violation if the file `path` includes the project header `name`, or None."""
    target = Path(name)
    if "internal" in target.parts:
        owner = Path(*target.parts[: target.parts.index("internal")])
        if not is_inside(path, owner.as_posix()):
            return f"{name} is private to {owner}"
    if path.parts[0] != "tutti" or len(target.parts) < 3:
        return None
    source, wanted = library_of(path), library_of(target)
    if wanted is None or is_allowed(source, wanted):
        return None
    return f"{source} may not include {wanted} ({name})"


def violations_in(root, path):
    text = (root / path).read_text(encoding="utf-8")
    if path.parts[0] == "tutti" and library_of(path) is None:
        yield f"{path}: unknown component {path.parts[1]}. Add it to tools/check_layers.py and ARCHITECTURE.md"
        return
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        violation = None
        if name.startswith("tutti/"):
            violation = internal_violation(path, name)
        elif quote == '"' and (root / path.parent / name).exists() and not (root / name).exists():
            violation = f'"{name}" must be included by its full path'
        if path.parts[0] not in FREE:
            violation = violation or external_violation(path, name)
        if violation:
            line = text.count("\n", 0, match.start(2)) + 1
            yield f"{path}:{line}: {violation}"


def unit_graph(root, paths):
    """Returns the include graph between units: a header and the source of the same name. Tests are ignored."""
    units = {path.with_suffix("") for path in paths if path.parts[0] == "tutti" and not source_tree.is_test(path)}
    graph = {unit: set() for unit in units}
    for path in paths:
        unit = path.with_suffix("")
        if unit not in units:
            continue
        for _, name in INCLUDE.findall((root / path).read_text(encoding="utf-8")):
            target = Path(name).with_suffix("")
            if target in units and target != unit:
                graph[unit].add(target)
    return graph


def cycles(graph):
    """Returns the strongly connected components with several nodes (Tarjan's algorithm, iterative), each sorted."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        while work:
            node, edges = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for target in edges:
                if target not in index:
                    work.append((target, iter(sorted(graph[target]))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        found.append(sorted(component))
    return sorted(found, key=len, reverse=True)


def wrong_rows(root):
    """Yields the rows of ARCHITECTURE.md whose dependencies differ from MAY_INCLUDE."""
    page = root / "ARCHITECTURE.md"
    allowed = defaultdict(set)
    for library, names in MAY_INCLUDE.items():
        component = library.partition("/")[0]
        allowed[component] |= {name.partition("/")[0] for name in names} - {component}
    rows = ROW.findall(page.read_text(encoding="utf-8")) if page.exists() else []
    for component, text in rows:
        if {name.strip() for name in text.split(",") if name} != allowed[component]:
            yield f"ARCHITECTURE.md: {component} depends on {', '.join(sorted(allowed[component]))}"


def check(root):
    """Returns all violations below `root`, and one line with the counts."""
    paths = [path for path in source_tree.files(root, source_tree.CXX) if len(path.parts) > 1]
    violations = [violation for path in paths for violation in violations_in(root, path)]
    violations += wrong_rows(root)
    graph = unit_graph(root, paths)
    found = cycles(graph)
    count = sum(len(cycle) for cycle in found)
    if count > MOST_UNITS_IN_CYCLES:
        violations += ["include cycle: " + ", ".join(unit.as_posix() for unit in cycle) for cycle in found]
        violations.append(f"{count} units are in include cycles; the limit is {MOST_UNITS_IN_CYCLES}")
    share = 100 * count / max(1, len(graph))
    summary = f"{len(paths)} files, {len(violations)} violations, {count} of {len(graph)} units ({share:.1f} %) in include cycles"
    return violations, summary


def print_graph(root):
    edges = defaultdict(set)
    for path in source_tree.files(root / "tutti", source_tree.CXX):
        path = Path("tutti") / path
        for _, name in INCLUDE.findall((root / path).read_text(encoding="utf-8")):
            if name.startswith("tutti/") and library_of(path) and library_of(Path(name)):
                edges[library_of(path)].add(library_of(Path(name)))
    for source in MAY_INCLUDE:
        print(f"{source}: {' '.join(sorted(edges[source] - {source}))}")


def main():
    if "--graph" in sys.argv:
        print_graph(source_tree.ROOT)
        return 0
    violations, summary = check(Path(sys.argv[1]) if len(sys.argv) > 1 else source_tree.ROOT)
    print("\n".join([*violations, f"check_layers: {summary}"]))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
