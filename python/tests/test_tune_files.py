"""tutti.tune: study files, and studies of Optuna."""

import multiprocessing
import pickle
import subprocess
import sys

import pytest
import tutti.tune
from tutti.tune.trial import TrialState


@pytest.fixture(autouse=True)
def quiet():
    before = tutti.tune.logging.get_verbosity()
    tutti.tune.logging.set_verbosity(tutti.tune.logging.ERROR)
    yield
    tutti.tune.logging.set_verbosity(before)


def objective(trial):
    x = trial.suggest_float("x", 1e-3, 1, log=True)
    kind = trial.suggest_categorical("kind", ["a", None, 1.5, True])
    trial.set_user_attr("list", [1, {"a": None}])
    trial.report(x, trial.suggest_int("n", 0, 4))
    if trial.number == 1:
        raise tutti.tune.TrialPruned
    return x if kind == "a" else float("inf")


def contents(study):
    return [(t.number, t.state, t.values, t.params, t.distributions, t.user_attrs, t.intermediate_values,
             t.datetime_start, t.datetime_complete) for t in study.trials]


def test_studies_are_the_same_after_loading(tmp_path):
    path = f"sqlite:///{tmp_path}/study.db"
    study = tutti.tune.create_study(study_name="a", storage=path)
    study.set_user_attr("data", "hep")
    study.optimize(objective, n_trials=6)
    expected = contents(study)
    assert tutti.tune.load_study(study_name="a", storage=path).trials == study.trials, "the same object of this process"
    del study
    loaded = tutti.tune.load_study(study_name="a", storage=path)
    assert contents(loaded) == expected and loaded.user_attrs == {"data": "hep"}
    loaded.optimize(objective, n_trials=2)
    assert len(pickle.loads(pickle.dumps(loaded)).trials) == 8


def test_names_of_studies(tmp_path):
    path = tmp_path / "study.db"
    with pytest.raises(FileNotFoundError):
        tutti.tune.load_study(study_name="a", storage=path)
    study = tutti.tune.create_study(study_name="a", storage=path, direction="maximize")
    with pytest.raises(tutti.tune.exceptions.DuplicatedStudyError):
        tutti.tune.create_study(study_name="a", storage=path)
    study.optimize(lambda trial: 3, n_trials=1)
    again = tutti.tune.create_study(study_name="a", storage=path, load_if_exists=True)
    assert again.best_value == 3 and again.direction == tutti.tune.StudyDirection.MAXIMIZE
    tutti.tune.copy_study(from_study_name="a", from_storage=path, to_storage=path, to_study_name="b")
    assert tutti.tune.get_all_study_names(path) == ["a", "b"]
    with pytest.raises(ValueError, match="2 studies"):
        tutti.tune.load_study(storage=path)
    tutti.tune.delete_study(study_name="a", storage=path)
    (summary,) = tutti.tune.get_all_study_summaries(path)
    assert (summary.study_name, summary.n_trials, summary.best_trial.value) == ("b", 1, 3)
    with pytest.raises(KeyError, match="its studies: b"):
        tutti.tune.load_study(study_name="a", storage=path)


def test_attributes_of_files_are_json(tmp_path):
    study = tutti.tune.create_study(storage=tmp_path / "study.db")
    trial = study.ask()
    with pytest.raises(TypeError):
        trial.set_user_attr("object", object())
    trial.set_user_attr("values", [float("nan"), float("-inf")])
    values = trial.user_attrs["values"]
    assert values[0] != values[0] and values[1] == float("-inf")


KILLED = """
import os, sys, tutti.tune
study = tutti.tune.create_study(study_name="a", storage=sys.argv[1])
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
trial = study.ask()
trial.suggest_float("x", 0, 1)
print("running", flush=True)
if sys.argv[2] == "wait":
    sys.stdin.read()
os._exit(9)
"""


def test_trials_of_a_killed_process_become_failed(tmp_path):
    path = tmp_path / "study.db"
    subprocess.run([sys.executable, "-c", KILLED, path, "exit"], stderr=subprocess.DEVNULL, timeout=60)
    (summary,) = tutti.tune.get_all_study_summaries(path)
    assert summary.n_trials == 4
    study = tutti.tune.load_study(study_name="a", storage=path)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 3 + [TrialState.FAIL]
    assert "x" in study.trials[3].params


def test_one_process_writes_and_others_may_read(tmp_path):
    path = tmp_path / "study.db"
    command = [sys.executable, "-c", KILLED, path, "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
        assert writer.stdout.readline() == b"running\n"
        with pytest.raises(ValueError, match="DDL-10-20"):
            tutti.tune.load_study(study_name="a", storage=path)
        (summary,) = tutti.tune.get_all_study_summaries(path)
        assert summary.n_trials == 4
        seen = tutti.tune.load_study(study_name="a", storage=path, read_only=True)
        assert [trial.state for trial in seen.trials] == [TrialState.COMPLETE] * 3 + [TrialState.RUNNING]
        with pytest.raises(OSError, match="DDL-10-22"):
            seen.ask()
        writer.stdin.close()
    assert len(tutti.tune.load_study(study_name="a", storage=path).trials) == 4


def tell_in_child(study, number, queue):
    try:
        study.tell(number, 1.0)
    except ValueError as error:
        queue.put(str(error))


def test_forked_process_must_not_write(tmp_path):
    study = tutti.tune.create_study(storage=tmp_path / "study.db")
    trial = study.ask()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=tell_in_child, args=(study, trial.number, queue))
    child.start()
    assert "DDL-10-20" in queue.get(timeout=60)
    child.join()
    study.tell(trial, 2.0)
    assert study.best_value == 2.0


@pytest.mark.parametrize("path", ["mysql://host/db", "postgresql://host/db"])
def test_other_databases_are_refused(path):
    with pytest.raises(ValueError, match="unknown storage"):
        tutti.tune.create_study(storage=path)


def test_export_and_import(tmp_path):
    study = tutti.tune.create_study(study_name="a", storage=tmp_path / "study.db", directions=["minimize", "maximize"])
    study.set_metric_names(["loss", "accuracy"])
    study.optimize(lambda trial: (trial.suggest_int("n", 1, 9), 2.0), n_trials=4)
    tutti.tune.export_optuna(study, tmp_path / "optuna.db")
    with pytest.raises(OSError, match="DDL-10-28"):
        tutti.tune.export_optuna(study, tmp_path / "optuna.db")
    tutti.tune.export_optuna(study, tmp_path / "optuna.db", study_name="b")
    with pytest.raises(ValueError, match="2 studies"):
        tutti.tune.import_optuna(tmp_path / "optuna.db")
    copied = tutti.tune.import_optuna(tmp_path / "optuna.db", study_name="b")
    assert contents(copied) == contents(study) and copied.metric_names == ["loss", "accuracy"]
    with pytest.raises(OSError, match="not a study of Optuna"):
        tutti.tune.import_optuna(tmp_path / "study.db")
    with pytest.raises(OSError, match="DDL-10-21"):
        tutti.tune.load_study(storage=tmp_path / "optuna.db")


def portable(study):
    """Contents of a study of either library."""
    return [(t.number, t.state.name, t.values, t.params, {name: str(one) for name, one in t.distributions.items()},
             t.user_attrs, t.intermediate_values, t.datetime_start, t.datetime_complete) for t in study.trials]


def test_round_trip_with_optuna(tmp_path):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    version = "3.0" if optuna.__version__ < "3.2" else "3.2"
    theirs = optuna.create_study(study_name="theirs", storage=f"sqlite:///{tmp_path}/theirs.db")

    def with_their_exception(trial):
        try:
            return objective(trial)
        except tutti.tune.TrialPruned as pruned:
            raise optuna.TrialPruned from pruned

    other = tutti.tune.create_study()
    other.optimize(with_their_exception, n_trials=2)
    assert [trial.state.name for trial in other.trials] == ["COMPLETE", "PRUNED"]

    theirs.optimize(with_their_exception, n_trials=5)
    theirs.enqueue_trial({"x": 0.5})
    ours = tutti.tune.import_optuna(f"sqlite:///{tmp_path}/theirs.db", storage=tmp_path / "ours.db")
    assert portable(ours) == portable(theirs)
    ours.optimize(objective, n_trials=3)
    assert ours.trials[5].params["x"] == 0.5 and len(ours.trials) == 8

    tutti.tune.export_optuna(ours, tmp_path / "back.db", optuna_version=version)
    back = optuna.load_study(study_name="theirs", storage=f"sqlite:///{tmp_path}/back.db")
    assert portable(back) == portable(ours)
    back.optimize(with_their_exception, n_trials=2)
    assert len(back.trials) == 10
