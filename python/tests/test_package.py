"""Contents of the wheel, and agreement of type stubs and modules."""

import ast
import importlib
import inspect
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
import tutti

SOURCE = Path(__file__).resolve().parents[1]
BUILD = Path(tutti.__file__).resolve().parents[2]


def test_wheel(tmp_path):
    source = tmp_path / "source/python"
    source.parent.mkdir()
    # setuptools writes next to the sources, so it gets a copy of them.
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


MODULES = ["ddl", "pyddl", "tutti._comm", "tutti.torch", "tutti.torch.hooks", "tutti._tune"]
MODULES += ["tutti.horovod", "tutti.horovod.basics", "tutti.horovod.torch", "tutti.horovod.torch.compression"]


def stub_names(name, is_package):
    path = SOURCE / (name.replace(".", "/") + ("/__init__.pyi" if is_package else ".pyi"))
    listed = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            listed.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            listed.add(node.target.id)
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            listed.update(stub_names(node.module, False))
        elif isinstance(node, ast.ImportFrom):
            listed.update(alias.asname for alias in node.names if alias.asname)
    return {n for n in listed if not n.startswith("_")}


@pytest.mark.parametrize("name", MODULES)
def test_stubs_match_the_modules(name):
    module = importlib.import_module(name)
    listed = stub_names(name, hasattr(module, "__path__"))
    names = getattr(module, "__all__", None) or [n for n, v in vars(module).items() if not isinstance(v, types.ModuleType)]
    public = {n for n in names if not n.startswith("_")}
    only_listed = {"job", "Elements", "Handle", "ReduceOp", "Compressor"}
    assert [n for n in listed - only_listed if not hasattr(module, n)] == []
    assert public - listed - only_listed == set()


@pytest.mark.parametrize("name", ["tutti.torch", "tutti.horovod.torch"])
def test_stubs_have_the_parameters_of_functions(name):
    module = importlib.import_module(name)
    for node in ast.parse((SOURCE / name.replace(".", "/") / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            listed = [a.arg for a in node.args.posonlyargs + node.args.args] + ([node.args.vararg.arg] if node.args.vararg else [])
            listed += [a.arg for a in node.args.kwonlyargs]
            assert listed == list(inspect.signature(getattr(module, node.name)).parameters), node.name
