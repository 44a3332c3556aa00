"""Runs the examples in the docstrings of the Python packages, as a job of one rank."""

import doctest
import importlib
import importlib.util
import pkgutil

import pytest

PACKAGES = ("ddl", "pyddl", "snap_ml", "tutti")
REQUIRED = {"snap_ml": "sklearn", "tutti.horovod": "torch", "tutti.learn": "sklearn", "tutti.torch": "torch"}


def modules():
    """Yields the names of all modules whose dependencies are installed, without compiled and patched ones."""
    for package in PACKAGES:
        path = importlib.util.find_spec(package).submodule_search_locations
        for name in [package, *(info.name for info in pkgutil.walk_packages(path, f"{package}."))]:
            missing = [needed for prefix, needed in REQUIRED.items() if name.startswith(prefix) and not importlib.util.find_spec(needed)]
            if not missing and not name.rpartition(".")[2].startswith(("_", "patched_")):
                yield name


def examples(name):
    """Returns the docstrings of a module that contain examples."""
    return [test for test in doctest.DocTestFinder().find(importlib.import_module(name)) if test.examples]


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in examples(name):
        assert runner.run(test).failed == 0, f"{test.name} in {test.filename}:{test.lineno}"


def test_main_modules_have_examples():
    for name in ("ddl", "pyddl"):
        assert examples(name), name
