"""snap_ml_mpi under mpirun gives the results of a single process."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import snap_ml
import snap_ml_mpi
from tutti.learn import data

MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")


DDLRUN = Path(snap_ml.__file__).parents[2] / "bin" / "ddlrun"  # of the build tree
STARTS = {"mpirun": [MPIRUN, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n"], "ddlrun": [str(DDLRUN), "-n"]}


ESTIMATORS = [getattr(snap_ml_mpi, name)(n_jobs=1) for name in snap_ml_mpi.__all__]


@parametrize_with_checks([one.set_params(**{name: 5 for name in ("n_estimators", "num_round") if name in one.get_params()}) for one in ESTIMATORS])
def test_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.skipif(MPIRUN is None, reason="no mpirun here")
@pytest.mark.parametrize("start, ranks", [("mpirun", 1), ("mpirun", 3), ("ddlrun", 2)])
def test_the_known_program_over_ranks(tmp_path, start, ranks):
    if start == "ddlrun" and not DDLRUN.exists():
        pytest.skip("no ddlrun in this tree")
    X, y = make_classification(500, 12, random_state=3)
    y = np.where(y > 0, 1.0, -1.0)
    X = X.astype(np.float32)
    lines = [f"{label:g} " + " ".join(f"{j + 1}:{value:.9g}" for j, value in enumerate(row)) for row, label in zip(X[:300], y[:300])]
    (tmp_path / "train").write_text("\n".join(lines))
    data.write_snap_file(tmp_path / "test", X[300:], y[300:])
    kinds = np.digitize(X[:, 0], [-1, 1]) + 1  # three classes: 1, 2, 3
    data.save_data_file(tmp_path / "chunks", X, kinds, chunk_rows=100)
    command = [*STARTS[start], str(ranks), sys.executable, str(Path(__file__).with_name("known_mpi_program.py")), str(tmp_path / "train"),
               str(tmp_path / "test"), str(tmp_path / "chunks")]
    output = subprocess.run(command, capture_output=True, text=True, timeout=120,
                            env={**os.environ, "TUTTI_TUNING_CACHE": "none"})
    assert output.returncode == 0, output.stderr
    reports = re.findall(r"rows (\d+) of 200 loss (\S+) accuracy (\S+) weight (\S+)", output.stdout)
    assert len(reports) == ranks and sum(int(rows) for rows, *_ in reports) == 200
    model = snap_ml.LogisticRegression(tol=1e-10).fit(X[:300], y[:300])
    for _, loss, accuracy, weight in reports:
        assert abs(float(loss) - log_loss(y[300:], model.predict_proba(X[300:]))) < 1e-5
        assert abs(float(accuracy) - np.mean(model.predict(X[300:]) == y[300:])) < 1e-6
        assert abs(float(weight) - model.coef_[0][0]) < 1e-4
    reports = re.findall(r"chunks (\d+) of 500 loss (\S+)", output.stdout)
    assert len(reports) == ranks and sum(int(rows) for rows, _ in reports) == 500
    streamed = re.findall(r"streamed (\d+) of 500 loss (\S+)", output.stdout)
    assert len(streamed) == ranks and sum(int(rows) for rows, _ in streamed) == 500
    reports += streamed
    balanced = snap_ml.LogisticRegression(class_weight="balanced", tol=1e-10).fit(X, kinds)
    for _, loss in reports:
        assert abs(float(loss) - log_loss(kinds, balanced.predict_proba(X))) < 1e-5
