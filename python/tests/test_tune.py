"""tutti.tune: studies, trials and the loop of optimize."""

import math
import pickle

import pytest
import tutti.tune as optuna
from tutti.tune.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from tutti.tune.trial import FixedTrial, TrialState


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def squares(trial):
    x = trial.suggest_float("x", -10, 10)
    n = trial.suggest_int("n", 1, 64, log=True)
    kind = trial.suggest_categorical("kind", ["a", None, 2.5])
    return x**2 + n + (kind == "a")


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_optimize_records_every_trial(n_jobs):
    study = optuna.create_study()
    study.optimize(squares, n_trials=12, n_jobs=n_jobs)
    assert [trial.number for trial in study.trials] == list(range(12))
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert study.best_value == min(trial.value for trial in study.trials)
    assert study.best_params == study.best_trial.params
    assert study.best_trial.distributions == {
        "x": FloatDistribution(-10, 10), "n": IntDistribution(1, 64, log=True),
        "kind": CategoricalDistribution(["a", None, 2.5])}


def test_seed_decides_the_values_whatever_the_threads():
    studies = []
    for n_jobs in (1, 2):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
        study.optimize(squares, n_trials=8, n_jobs=n_jobs)
        studies.append([trial.params for trial in study.trials])
    assert studies[0] == studies[1]


def test_maximize_and_callbacks_and_stop():
    seen = []

    def stop_at_three(study, trial):
        seen.append(trial.number)
        if trial.number == 2:
            study.stop()

    study = optuna.create_study(direction="maximize")
    study.optimize(lambda trial: trial.number, callbacks=[stop_at_three])
    assert seen == [0, 1, 2] and study.best_trial.number == 2
    with pytest.raises(RuntimeError, match="stop"):
        study.stop()


def test_exceptions_end_the_study_or_only_the_trial():
    def fails(trial):
        raise ArithmeticError("no")

    study = optuna.create_study()
    with pytest.raises(ArithmeticError):
        study.optimize(fails, n_trials=3)
    study.optimize(fails, n_trials=3, catch=(ArithmeticError,))
    study.optimize(lambda trial: float("nan"), n_trials=1)
    study.optimize(lambda trial: [1, 2], n_trials=1)
    assert [trial.state for trial in study.trials] == [TrialState.FAIL] * 6
    with pytest.raises(ValueError, match="no trial is complete"):
        study.best_trial
    with pytest.raises(TypeError, match="catch"):
        study.optimize(fails, n_trials=1, catch=1)


def test_exception_in_a_thread_is_raised_and_ends_the_others():
    study = optuna.create_study()
    with pytest.raises(ZeroDivisionError):
        study.optimize(lambda trial: 1 / 0, n_jobs=3)
    assert all(trial.state == TrialState.FAIL for trial in study.trials)


def test_ctrl_c_fails_the_trial_and_stops():
    def interrupted(trial):
        raise KeyboardInterrupt

    study = optuna.create_study()
    with pytest.raises(KeyboardInterrupt):
        study.optimize(interrupted, n_trials=5, catch=(Exception,))
    assert [trial.state for trial in study.trials] == [TrialState.FAIL]


def test_optimize_in_its_own_objective_is_refused():
    study = optuna.create_study()
    with pytest.raises(RuntimeError, match="must not be called"):
        study.optimize(lambda trial: study.optimize(squares, n_trials=1) or 0, n_trials=1)


def test_ask_and_tell():
    study = optuna.create_study()
    trial = study.ask({"x": FloatDistribution(0, 1), "n": IntDistribution(1, 9, step=2)})
    assert 0 <= trial.params["x"] <= 1 and trial.params["n"] in (1, 3, 5, 7, 9)
    assert study.tell(trial, 0.5).value == 0.5
    assert study.tell(trial.number, 0.7, skip_if_finished=True).value == 0.5
    with pytest.raises(ValueError, match="not running"):
        study.tell(trial, 0.7)
    with pytest.raises(ValueError, match="no trial has the number"):
        study.tell(99, 1.0)
    with pytest.warns(UserWarning, match="could not be cast"):
        assert study.tell(study.ask(), "a").state == TrialState.FAIL
    with pytest.raises(ValueError, match="has no values"):
        study.tell(study.ask(), 1.0, state=TrialState.PRUNED)


def test_pruned_trials_keep_their_last_report():
    study = optuna.create_study()
    trial = study.ask()
    trial.report(3, 0)
    trial.report(2, 5)
    with pytest.warns(UserWarning, match="ignored"):
        trial.report(1, 5)
    assert study.tell(trial, state=TrialState.PRUNED).value == 2
    assert study.trials[0].intermediate_values == {0: 3, 5: 2}
    assert study.tell(study.ask(), state=TrialState.PRUNED).value is None


def test_enqueued_trials_start_first():
    study = optuna.create_study()
    study.enqueue_trial({"x": 1.5, "kind": None}, user_attrs={"why": "known"})
    study.enqueue_trial({"x": 1.5, "kind": None}, skip_if_exists=True)
    assert len(study.trials) == 1 and study.trials[0].state == TrialState.WAITING
    study.optimize(squares, n_trials=2)
    assert study.trials[0].params["x"] == 1.5 and study.trials[0].params["kind"] is None
    assert study.trials[0].user_attrs == {"why": "known"}
    study.enqueue_trial({"x": 11})
    with pytest.warns(UserWarning, match="outside"):
        study.optimize(squares, n_trials=1)
    assert study.trials[2].params["x"] == 11


def test_parameters_keep_their_kind():
    study = optuna.create_study()
    trial = study.ask()
    value = trial.suggest_float("x", 0, 1)
    with pytest.warns(RuntimeWarning, match="no effect"):
        assert trial.suggest_float("x", 0, 2) == value
    with pytest.raises(ValueError):
        trial.suggest_int("x", 0, 1)
    trial.suggest_categorical("k", [True, 1, "1"])
    with pytest.raises(ValueError):
        study.ask().suggest_categorical("k", [True, 1])
    for wrong in (lambda: trial.suggest_float("y", 2, 1), lambda: trial.suggest_float("y", 0, 1, log=True),
                  lambda: trial.suggest_categorical("y", []), lambda: trial.suggest_float("y", 0, 1, step=0)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.warns(FutureWarning, match="deprecated"):
        trial.suggest_loguniform("z", 1, 2)


def test_upper_limit_of_a_step_is_not_exceeded():
    distribution = FloatDistribution(-10.2, 10.2, step=0.1)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    values = [study.ask().suggest_float("x", -10.2, 10.2, step=0.1) for _ in range(500)]
    assert max(values) <= 10.2 and all(distribution._contains(value) for value in values)
    with pytest.warns(UserWarning, match="ends at 0.9"):
        assert FloatDistribution(0, 1, step=0.3).high == 0.9


def test_choices_are_returned_as_given():
    def objective(trial):
        chosen = trial.suggest_categorical("c", choices)
        assert any(chosen is choice for choice in choices)
        return 0

    choices = ("a", 1.5, None, True, math.inf)
    study = optuna.create_study()
    study.optimize(objective, n_trials=10)
    with pytest.warns(UserWarning, match="cannot store"):
        choices = ((1, 2), [3])
        study = optuna.create_study()
        study.optimize(objective, n_trials=4)
    assert study.trials[0].params["c"] in choices


def test_several_objectives():
    study = optuna.create_study(directions=["minimize", "maximize"])
    for values in ([2, 2], [1, 1], [3, 1]):
        study.optimize(lambda trial, values=values: values, n_trials=1)
    assert sorted(tuple(trial.values) for trial in study.best_trials) == [(1, 1), (2, 2)]
    with pytest.raises(RuntimeError, match="best_trials"):
        study.best_trial
    with pytest.raises(NotImplementedError):
        study.ask().report(1, 1)


def test_constraints_exclude_infeasible_trials():
    sampler = optuna.samplers.TPESampler(seed=1, constraints_func=lambda trial: [trial.user_attrs["limit"]])

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("limit", 0.5 - x)
        return x

    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30)
    assert study.best_value >= 0.5
    assert study.best_value == min(t.value for t in study.trials if t.params["x"] >= 0.5)
    assert study.trials[0].system_attrs["constraints"] == [0.5 - study.trials[0].params["x"]]


def test_attributes_in_memory_may_be_any_object():
    study = optuna.create_study()
    study.set_user_attr("data", {"name": "hep"})
    trial = study.ask()
    model = print  # not JSON
    trial.set_user_attr("model", model)
    trial.set_user_attr("pair", (1, float("inf")))
    assert trial.user_attrs["model"] is model and trial.user_attrs["pair"] == (1, math.inf)
    study.tell(trial, 1)
    assert study.user_attrs == {"data": {"name": "hep"}}
    with pytest.raises(optuna.exceptions.UpdateFinishedTrialError):
        trial.set_user_attr("late", 1)


def test_add_trials_of_another_study():
    source, target = optuna.create_study(), optuna.create_study()
    source.optimize(squares, n_trials=5)
    target.add_trials(source.trials)
    assert [trial.params for trial in target.trials] == [trial.params for trial in source.trials]
    assert target.best_value == source.best_value
    with pytest.raises(ValueError, match="objectives"):
        target.add_trial(optuna.create_trial(values=[1, 2]))
    with pytest.raises(ValueError, match="outside"):
        optuna.create_trial(value=1, params={"x": 2.0}, distributions={"x": FloatDistribution(0, 1)})


def test_fixed_trial():
    assert squares(FixedTrial({"x": 2, "n": 3, "kind": None})) == 7
    with pytest.raises(ValueError, match="no value of 'x'"):
        squares(FixedTrial({}))


def test_studies_in_memory_can_be_pickled():
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=2))
    study.optimize(squares, n_trials=5)
    copied = pickle.loads(pickle.dumps(study))
    assert copied.trials == study.trials and copied.best_value == study.best_value
    copied.optimize(squares, n_trials=2)
    assert len(copied.trials) == 7 and len(study.trials) == 5


def test_log(capsys):
    optuna.logging._reset_library_root_logger()  # a handler for the captured stream
    optuna.logging.set_verbosity(optuna.logging.INFO)
    optuna.create_study().optimize(lambda trial: 1.0, n_trials=1)
    assert "Trial 0 finished with value: 1.0" in capsys.readouterr().err
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    optuna.create_study().optimize(lambda trial: 1.0, n_trials=1)
    assert not capsys.readouterr().err
    optuna.logging._reset_library_root_logger()


def test_dataframe():
    pytest.importorskip("pandas")
    study = optuna.create_study()
    assert len(study.trials_dataframe()) == 0
    study.optimize(squares, n_trials=3)
    frame = study.trials_dataframe()
    assert list(frame["number"]) == [0, 1, 2] and list(frame["state"]) == ["COMPLETE"] * 3
    assert list(frame["params_x"]) == [trial.params["x"] for trial in study.trials]
    assert ("params", "n") in study.trials_dataframe(multi_index=True).columns


def test_importances():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    with pytest.raises(ValueError, match="complete"):
        optuna.importance.get_param_importances(study)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1e-3), n_trials=100)
    found = optuna.importance.get_param_importances(study)
    assert list(found) == ["x", "y"] and found["x"] > 0.6 and abs(sum(found.values()) - 1) < 1e-6
    by_y = optuna.importance.get_param_importances(study, target=lambda trial: trial.params["y"])
    assert list(by_y) == ["y", "x"]
    with pytest.raises(ValueError, match="valid names"):
        optuna.importance.get_param_importances(study, params=["z"])
