"""tutti.tune: samplers and pruners, also user-defined ones."""

import pytest
import tutti.tune as optuna
from tutti.tune.trial import TrialState


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


SAMPLERS = {
    "auto": optuna.samplers.AutoSampler, "random": optuna.samplers.RandomSampler, "sobol": optuna.samplers.QMCSampler,
    "tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler, "cma_es": optuna.samplers.CmaEsSampler,
    "nsga2": optuna.samplers.NSGAIISampler}


def branches(trial):
    if trial.suggest_categorical("kind", ["line", "curve"]) == "line":
        return abs(trial.suggest_float("slope", -1, 1))
    return trial.suggest_int("degree", 2, 8, step=2) + trial.suggest_float("scale", 1e-3, 1, log=True)


@pytest.mark.parametrize("name", SAMPLERS)
def test_same_seed_same_trials(name):
    runs = []
    for seed in (1, 1, 2):
        study = optuna.create_study(sampler=SAMPLERS[name](seed=seed))
        study.optimize(branches, n_trials=25)
        runs.append([trial.params for trial in study.trials])
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("name", [name for name in SAMPLERS if name not in ("random", "sobol")])
def test_searches_near_the_best(name):
    study = optuna.create_study(sampler=SAMPLERS[name](seed=1))
    count = 200 if name == "nsga2" else 60
    study.optimize(lambda trial: (trial.suggest_float("x", -10, 10) - 2) ** 2 + trial.suggest_float("y", 0, 5),
                   n_trials=count)
    half = [trial.value for trial in study.trials[count // 2:]]
    assert sum(half) / len(half) < sum(trial.value for trial in study.trials[:10]) / 10


def test_auto_explains_its_choice():
    study = optuna.create_study()
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert study.sampler.reason(study).startswith("gp: ")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=400)
    assert study.sampler.reason(study).startswith("cma_es: ")


def test_grid_visits_every_combination_once():
    study = optuna.create_study(sampler=optuna.samplers.GridSampler({"x": [-1, 0, 2], "k": ["a", None]}, seed=1))
    study.optimize(lambda trial: trial.suggest_int("x", -5, 5) + (trial.suggest_categorical("k", ["a", None]) == "a"))
    visited = [(trial.params["x"], trial.params["k"]) for trial in study.trials]
    assert len(visited) == 6 and set(visited) == {(x, k) for x in (-1, 0, 2) for k in ("a", None)}
    with pytest.raises(ValueError, match="not part of the grid"):
        study.ask().suggest_float("z", 0, 1)


def test_some_parameters_fixed():
    sampler = optuna.samplers.PartialFixedSampler({"y": 0.25}, optuna.samplers.TPESampler(seed=1))
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2 + trial.suggest_float("y", 0, 1), n_trials=20)
    assert {trial.params["y"] for trial in study.trials} == {0.25}
    assert len({trial.params["x"] for trial in study.trials}) == 20


class UserSampler(optuna.samplers.BaseSampler):
    """Draws x together from the number of the trial, and others from the trials before."""

    def __init__(self):
        self.calls = []

    def infer_relative_search_space(self, study, trial):
        return {"x": optuna.distributions.FloatDistribution(0, 100)}

    def sample_relative(self, study, trial, search_space):
        return {"x": float(trial.number)}

    def sample_independent(self, study, trial, param_name, param_distribution):
        assert trial.params == {"x": float(trial.number)}
        return len(study.get_trials(states=(TrialState.COMPLETE,)))

    def before_trial(self, study, trial):
        self.calls.append(("before", trial.number, trial.state))

    def after_trial(self, study, trial, state, values):
        self.calls.append(("after", trial.number, state, values))


@pytest.mark.parametrize("is_stored", [False, True])
def test_user_defined_sampler(tmp_path, is_stored):
    study = optuna.create_study(sampler=UserSampler(), storage=tmp_path / "study.db" if is_stored else None)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 50) + trial.suggest_int("n", 0, 9), n_trials=3)
    assert [trial.params for trial in study.trials] == [{"x": 0, "n": 0}, {"x": 1, "n": 1}, {"x": 2, "n": 2}]
    assert study.sampler.calls[:2] == [("before", 0, TrialState.RUNNING), ("after", 0, TrialState.COMPLETE, [0])]


def test_sampler_that_extends_one_of_the_library():
    class Rounded(optuna.samplers.TPESampler):
        def sample_independent(self, study, trial, param_name, param_distribution):
            return round(super().sample_independent(study, trial, param_name, param_distribution))

    study = optuna.create_study(sampler=Rounded(seed=1, multivariate=False))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 100), n_trials=20)
    assert all(trial.params["x"] == int(trial.params["x"]) for trial in study.trials)


@pytest.mark.parametrize("is_stored", [False, True])
def test_sampler_stores_attributes(tmp_path, is_stored):
    class Counting(UserSampler):
        def sample_relative(self, study, trial, search_space):
            known = study._storage.get_study_system_attrs(study._study_id).get("count", 0)
            study._storage.set_study_system_attr(study._study_id, "count", known + 1)
            study._storage.set_trial_system_attr(trial._trial_id, "count", known)
            return {"x": float(trial.number)}

    study = optuna.create_study(sampler=Counting(), storage=tmp_path / "study.db" if is_stored else None)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 50), n_trials=3)
    assert [trial.system_attrs["count"] for trial in study.trials] == [0, 1, 2]
    assert study.system_attrs == {"count": 3}
    trials = study._storage.get_all_trials(study._study_id, deepcopy=False, states=(TrialState.COMPLETE,))
    assert trials == study.trials and study._storage.get_trial(trials[1]._trial_id).number == 1
    with pytest.raises(KeyError):
        study._storage.get_trial(trials[2]._trial_id + 1)


def test_sampler_may_be_replaced():
    study = optuna.create_study(sampler=UserSampler())
    study.optimize(lambda trial: trial.suggest_float("x", 0, 50), n_trials=1)
    study.sampler = optuna.samplers.RandomSampler(seed=1)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 50), n_trials=1)
    assert study.trials[0].params["x"] == 0 and study.trials[1].params["x"] != 1


def test_options_without_effect_are_named():
    with pytest.warns(UserWarning, match="ignores the options gamma"):
        optuna.samplers.TPESampler(gamma=lambda n: 1)
    with pytest.raises(ValueError, match="multivariate"):
        optuna.samplers.TPESampler(group=True, multivariate=False)


def curve(trial):
    """Worse for every further trial."""
    for step in range(8):
        trial.report(trial.number + 1 / (step + 1), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return trial.number


PRUNERS = [optuna.pruners.MedianPruner(n_startup_trials=1), optuna.pruners.PercentilePruner(25, n_startup_trials=1),
           optuna.pruners.ThresholdPruner(upper=1.1, n_warmup_steps=4),
           optuna.pruners.WilcoxonPruner(p_threshold=0.2), optuna.pruners.SuccessiveHalvingPruner(min_resource=1),
           optuna.pruners.HyperbandPruner(max_resource=1)]


@pytest.mark.parametrize("pruner", PRUNERS, ids=lambda pruner: type(pruner).__name__)
def test_pruners_stop_trials_that_are_worse(pruner):
    study = optuna.create_study(pruner=pruner)
    study.optimize(curve, n_trials=4)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] + ["PRUNED"] * 3


def test_patient_pruner_waits():
    def stalls(trial):
        for step, value in enumerate([5, 4, 4.5, 4.6, 4.7]):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return 1

    for patience, expected in ((1, 3), (3, 4)):
        study = optuna.create_study(pruner=optuna.pruners.PatientPruner(None, patience))
        study.optimize(stalls, n_trials=1)
        assert study.trials[0].last_step == expected
    study = optuna.create_study(pruner=optuna.pruners.PatientPruner(optuna.pruners.NopPruner(), 0))
    study.optimize(stalls, n_trials=1)
    assert study.trials[0].state == TrialState.COMPLETE


def test_user_defined_pruner():
    class Late(optuna.pruners.BasePruner):
        def prune(self, study, trial):
            assert trial.number in [one.number for one in study.trials]
            return trial.last_step >= 3

    study = optuna.create_study(pruner=optuna.pruners.PatientPruner(Late(), 0, 0))
    study.optimize(curve, n_trials=1)
    assert study.trials[0].state == TrialState.COMPLETE, "its reports improve"
    study.pruner = Late()
    study.optimize(curve, n_trials=1)
    assert study.trials[1].state == TrialState.PRUNED and study.trials[1].last_step == 3
