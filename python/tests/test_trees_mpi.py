"""Trees and class labels of snap_ml_mpi under mpirun are those of a single process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")


@pytest.mark.skipif(MPIRUN is None, reason="no mpirun here")
@pytest.mark.parametrize("program, told", [("trees_on_ranks.py", "the same trees"), ("string_labels_on_ranks.py", "the same classes")])
@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_fit_the_same_model_as_one_process(program, told, ranks):
    command = [MPIRUN, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", str(ranks), sys.executable, "-B",
               str(Path(__file__).with_name(program))]
    output = subprocess.run(command, capture_output=True, text=True, timeout=120,
                            env={**os.environ, "TUTTI_TUNING_CACHE": "none"})
    assert output.returncode == 0, output.stderr
    assert output.stdout.count(told) == ranks


@pytest.mark.skipif(MPIRUN is None, reason="no mpirun here")
def test_ranks_without_rows_and_with_other_columns():
    command = [MPIRUN, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", "3", sys.executable, "-B",
               str(Path(__file__).with_name("uneven_ranks.py"))]
    output = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "TUTTI_TUNING_CACHE": "none"})
    assert output.returncode == 0, output.stderr
    assert output.stdout.count("uneven ranks") == 3
