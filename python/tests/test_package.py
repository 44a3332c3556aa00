"""The wheel has everything, and stubs say what modules have."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tutti

SOURCE = Path(__file__).resolve().parents[1]
BUILD = Path(tutti.__file__).resolve().parents[2]


def test_wheel(tmp_path):
    source = tmp_path / "source/python"
    source.parent.mkdir()
    # setuptools writes beside the sources, so it gets a copy of them.
    subprocess.run(["cp", "-r", SOURCE, source], check=True)
    # One extension is enough, and quick to pack.
    built = tmp_path / "build"
    (built / "python/tutti").mkdir(parents=True)
    (built / "python/tutti/_comm.so").symlink_to(BUILD / "python/tutti/_comm.so")
    environment = {**os.environ, "TUTTI_BUILD_FOLDER": str(built), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", tmp_path, source]
    subprocess.run(command, check=True, env=environment, timeout=120)
    (wheel,) = tmp_path.glob("tutti-*.whl")
    assert "none-any" not in wheel.name
    installed = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, installed], check=True)
    assert (installed / "ddl/py.typed").exists() and (installed / "tutti/_comm.pyi").exists()
    program = "import ddl, pyddl, tutti; print(tutti.__file__, ddl.allreduce(3.0))"
    environment["PYTHONPATH"] = str(installed)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [str(installed / "tutti/__init__.py"), "3.0"], done.stderr


@pytest.mark.parametrize("name", ["ddl", "pyddl", "tutti._comm"])
def test_stubs_name_what_is_there(name):
    module = importlib.import_module(name)
    path = SOURCE / (name.replace(".", "/") + ("/__init__.pyi" if hasattr(module, "__path__") else ".pyi"))
    told = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            told.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            told.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            told.update(alias.asname for alias in node.names if alias.asname)
    public = {n for n in getattr(module, "__all__", dir(module)) if not n.startswith("_")}
    outside = {"job", "Elements"}
    assert all(hasattr(module, n) for n in told - outside), [n for n in told if not hasattr(module, n)]
    assert public - told - outside == set()
