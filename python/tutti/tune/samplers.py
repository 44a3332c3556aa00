"""Samplers: what to try next."""

import itertools
import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tutti import _tune
from tutti.tune.base_sampler import BaseSampler, ConstraintsFunction, NativeSampler
from tutti.tune.distributions import BaseDistribution
from tutti.tune.frozen_trial import FrozenTrial
from tutti.tune.trial_state import TrialState

__all__ = ["AutoSampler", "BaseSampler", "CmaEsSampler", "GPSampler", "GridSampler", "NSGAIISampler",
           "PartialFixedSampler", "QMCSampler", "RandomSampler", "TPESampler"]


class AutoSampler(NativeSampler):
    """The default: chooses GP, TPE, CMA-ES or NSGA-II by the numbers of trials, parameters and objectives.

    Parameters
    ----------
    seed : int, optional
        Default: random.
    constraints_func : callable, optional
        Returns one number per constraint of a trial. A constraint is violated if its number is positive.

    Examples
    --------
    >>> import tutti.tune
    >>> study = tutti.tune.create_study(sampler=tutti.tune.samplers.AutoSampler(seed=1))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=20)
    >>> study.sampler.reason(study)
    'gp: at most 300 trials of at most 25 parameters'
    """

    def __init__(self, *, seed: int | None = None, constraints_func: ConstraintsFunction | None = None) -> None:
        super().__init__(seed, constraints_func)

    def _make(self, study) -> _tune.Sampler:
        trials, parallel = study._plan
        return _tune.auto_sampler(trials, parallel, self._seed)

    def reason(self, study) -> str:
        """Return the algorithm of the latest trial of `study`, and why it was chosen."""
        return self._core(study).reason()


class RandomSampler(NativeSampler):
    """Independent uniform values.

    Parameters
    ----------
    seed : int, optional
        Default: random.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)

    def _make(self, study) -> _tune.Sampler:
        return _tune.random_sampler(self._seed)


class QMCSampler(NativeSampler):
    """Scrambled Sobol points, which cover the space evenly.

    Parameters
    ----------
    qmc_type : str
        "sobol". "halton" is replaced by it, with a warning.
    seed : int, optional
        Of the scrambling. Default: random.
    """

    def __init__(self, *, qmc_type: str = "sobol", scramble: bool = True, seed: int | None = None,
                 independent_sampler: BaseSampler | None = None, warn_asynchronous_seeding: bool = True,
                 warn_independent_sampling: bool = True) -> None:
        super().__init__(seed)
        if qmc_type not in ("sobol", "halton"):
            raise ValueError(f"unknown qmc_type '{qmc_type}': use sobol")
        self._warn_of_ignored({"qmc_type": qmc_type if qmc_type != "sobol" else None,
                               "scramble": None if scramble else scramble, "independent_sampler": independent_sampler})

    def _make(self, study) -> _tune.Sampler:
        return _tune.sobol_sampler(self._seed)


class TPESampler(NativeSampler):
    """Tree-structured Parzen estimator.

    Parameters
    ----------
    n_startup_trials : int
        Random trials at the beginning.
    n_ei_candidates : int
        Points that are compared for each trial.
    seed : int, optional
        Default: random.
    multivariate : bool
        Estimate the parameters of a trial together, so correlations are used.
    group : bool
        With conditional parameters: estimate those together that occur in the same trials. Default: as multivariate.
    constant_liar : bool
        Treat running trials as bad ones, so parallel trials differ.
    constraints_func : callable, optional
        Returns one number per constraint of a trial. A constraint is violated if its number is positive.
    **ignored
        The other options of Optuna's TPESampler (gamma, weights, prior_weight, ...) have no effect; a warning lists
        them.
    """

    def __init__(self, *, n_startup_trials: int = 10, n_ei_candidates: int = 24, seed: int | None = None,
                 multivariate: bool = True, group: bool | None = None, constant_liar: bool = True,
                 constraints_func: ConstraintsFunction | None = None, warn_independent_sampling: bool = True,
                 consider_prior: bool = True, prior_weight: float = 1.0, consider_magic_clip: bool = True,
                 consider_endpoints: bool = False, gamma: Callable[[int], int] | None = None,
                 weights: Callable[[int], Any] | None = None, categorical_distance_func: Any = None) -> None:
        super().__init__(seed, constraints_func)
        if group and not multivariate:
            raise ValueError("group=True needs multivariate=True")
        if n_startup_trials < 0 or n_ei_candidates < 1:
            raise ValueError(f"n_startup_trials ({n_startup_trials}) must be at least 0 and n_ei_candidates "
                             f"({n_ei_candidates}) at least 1")
        changed = {"consider_prior": (consider_prior, True), "prior_weight": (prior_weight, 1.0),
                   "consider_magic_clip": (consider_magic_clip, True), "consider_endpoints": (consider_endpoints, False)}
        self._warn_of_ignored({"gamma": gamma, "weights": weights, "categorical_distance_func": categorical_distance_func,
                               **{name: value for name, (value, default) in changed.items() if value != default}})
        self._options = (n_startup_trials, n_ei_candidates, multivariate, multivariate if group is None else group,
                         constant_liar)

    def _make(self, study) -> _tune.Sampler:
        return _tune.tpe_sampler(*self._options, self._seed)

    @staticmethod
    def hyperopt_parameters() -> dict[str, Any]:
        """Return the options of Optuna for the defaults of HyperOpt that this sampler knows."""
        return {"n_startup_trials": 20, "n_ei_candidates": 24}


class GPSampler(NativeSampler):
    """Bayesian optimisation with Gaussian processes, for few and expensive trials.

    Parameters
    ----------
    seed : int, optional
        Default: random.
    n_startup_trials : int, optional
        Quasi-random trials at the beginning. Default: twice the number of parameters, 5 to 10.
    constraints_func : callable, optional
        Returns one number per constraint of a trial. A constraint is violated if its number is positive.
    deterministic_objective : bool
        Has no effect: the noise is always estimated.
    """

    def __init__(self, *, seed: int | None = None, independent_sampler: BaseSampler | None = None,
                 n_startup_trials: int | None = None, deterministic_objective: bool = False,
                 constraints_func: ConstraintsFunction | None = None, warn_independent_sampling: bool = True) -> None:
        super().__init__(seed, constraints_func)
        self._warn_of_ignored({"independent_sampler": independent_sampler})
        # The first process needs some trials; 0 in C++ means the default.
        self._startup_trials = 0 if n_startup_trials is None else max(n_startup_trials, 1)

    def _make(self, study) -> _tune.Sampler:
        return _tune.gp_sampler(self._startup_trials, self._seed)


class CmaEsSampler(NativeSampler):
    """Covariance matrix adaptation, for many trials of numeric parameters and a single objective.

    Parameters
    ----------
    seed : int, optional
        Default: random.
    popsize : int, optional
        Trials of a generation. Default: 4 + floor(3 log(number of parameters)).
    **ignored
        The other options of Optuna's CmaEsSampler (x0, sigma0, restart_strategy, ...) have no effect; a warning lists
        them.
    """

    def __init__(self, x0: dict[str, Any] | None = None, sigma0: float | None = None, n_startup_trials: int = 1,
                 independent_sampler: BaseSampler | None = None, warn_independent_sampling: bool = True,
                 seed: int | None = None, *, consider_pruned_trials: bool = False, restart_strategy: str | None = None,
                 popsize: int | None = None, inc_popsize: int = -1, use_separable_cma: bool = False,
                 with_margin: bool = False, lr_adapt: bool = False, source_trials: Any = None) -> None:
        super().__init__(seed)
        self._warn_of_ignored({"x0": x0, "sigma0": sigma0, "independent_sampler": independent_sampler,
                               "restart_strategy": restart_strategy, "source_trials": source_trials,
                               "use_separable_cma": use_separable_cma or None, "with_margin": with_margin or None,
                               "lr_adapt": lr_adapt or None, "consider_pruned_trials": consider_pruned_trials or None})
        if popsize is not None and popsize < 2:
            raise ValueError(f"popsize must be at least 2, not {popsize}")
        self._population = popsize or 0

    def _make(self, study) -> _tune.Sampler:
        self._raise_error_if_multi_objective(study)
        return _tune.cma_es_sampler(self._population, self._seed)


class NSGAIISampler(NativeSampler):
    """Non-dominated sorting genetic algorithm, for several objectives and many trials.

    Parameters
    ----------
    population_size : int
        Trials of a generation.
    mutation_prob : float, optional
        Of each parameter. Default: 1 / number of parameters.
    crossover_prob, swapping_prob : float
        Of a crossover, and of each parameter in it.
    seed : int, optional
        Default: random.
    constraints_func : callable, optional
        Returns one number per constraint of a trial. A constraint is violated if its number is positive.
    """

    def __init__(self, *, population_size: int = 50, mutation_prob: float | None = None, crossover: Any = None,
                 crossover_prob: float = 0.9, swapping_prob: float = 0.5, seed: int | None = None,
                 constraints_func: ConstraintsFunction | None = None,
                 elite_population_selection_strategy: Any = None, child_generation_strategy: Any = None,
                 after_trial_strategy: Any = None) -> None:
        super().__init__(seed, constraints_func)
        if not isinstance(population_size, int):
            raise TypeError(f"population_size must be an integer, not {population_size!r}")
        if population_size < 2:
            raise ValueError(f"population_size must be at least 2, not {population_size}")
        for name, value in (("mutation_prob", mutation_prob or 0), ("crossover_prob", crossover_prob),
                            ("swapping_prob", swapping_prob)):
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must be between 0 and 1, not {value}")
        self._warn_of_ignored({"crossover": crossover, "child_generation_strategy": child_generation_strategy,
                               "elite_population_selection_strategy": elite_population_selection_strategy,
                               "after_trial_strategy": after_trial_strategy})
        self._options = (population_size, crossover_prob, swapping_prob, mutation_prob or 0)

    def _make(self, study) -> _tune.Sampler:
        return _tune.nsga2_sampler(*self._options, self._seed)


class GridSampler(BaseSampler):
    """Every combination of the given values once, in random order; then the study stops.

    Parameters
    ----------
    search_space : dict
        Values by name of the parameter.
    seed : int, optional
        Of the order. Default: random.

    Examples
    --------
    >>> import tutti.tune
    >>> sampler = tutti.tune.samplers.GridSampler({"x": [-1, 0, 1], "y": [0, 2]})
    >>> study = tutti.tune.create_study(sampler=sampler)
    >>> study.optimize(lambda t: t.suggest_int("x", -1, 1) ** 2 + t.suggest_int("y", 0, 2))
    >>> len(study.trials), study.best_params
    (6, {'x': 0, 'y': 0})
    """

    def __init__(self, search_space: Mapping[str, Sequence[Any]], seed: int | None = None) -> None:
        for name, values in search_space.items():
            for value in values:
                if value is not None and not isinstance(value, (str, int, float, bool)):
                    warnings.warn(f"the value {value!r} of '{name}' is a {type(value).__name__}, which a study file "
                                  "cannot store", stacklevel=2)
        self._search_space = {name: list(search_space[name]) for name in sorted(search_space)}
        self._all_grids = list(itertools.product(*self._search_space.values()))
        self._n_min_trials = len(self._all_grids)
        random.Random(seed).shuffle(self._all_grids)

    def infer_relative_search_space(self, study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(self, study, trial: FrozenTrial,
                        search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        return {}

    def before_trial(self, study, trial: FrozenTrial) -> None:
        """Choose a combination that no other trial has."""
        if "fixed_params" in trial.system_attrs:
            return
        left = self._unvisited(study) or self._unvisited(study, counts_running=False) or range(len(self._all_grids))
        study._set_trial_attribute(trial.number, True, "search_space", self._search_space)
        study._set_trial_attribute(trial.number, True, "grid_id", list(left)[0])

    def sample_independent(self, study, trial: FrozenTrial, param_name: str,
                           param_distribution: BaseDistribution) -> Any:
        if "grid_id" not in trial.system_attrs:
            raise ValueError("an enqueued trial of a grid must fix all parameters")
        if param_name not in self._search_space:
            raise ValueError(f"parameter '{param_name}' is not part of the grid: add it to search_space")
        names = list(self._search_space)
        value = self._all_grids[trial.system_attrs["grid_id"]][names.index(param_name)]
        if not param_distribution._contains(param_distribution.to_internal_repr(value)):
            warnings.warn(f"the value {value} of '{param_name}' in the grid is outside of {param_distribution}",
                          stacklevel=2)
        return value

    def after_trial(self, study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Stop the study after the last combination."""
        left = self._unvisited(study, counts_running=False)
        if not left or left == [trial.system_attrs.get("grid_id")]:
            study._request_stop()

    def is_exhausted(self, study) -> bool:
        """Return True if all combinations have been evaluated."""
        return not self._unvisited(study, counts_running=False)

    def _unvisited(self, study, counts_running: bool = True) -> list[int]:
        visited = set()
        for trial in study.get_trials(deepcopy=False):
            is_same = trial.system_attrs.get("search_space") == self._search_space
            if is_same and "grid_id" in trial.system_attrs and (counts_running or trial.state.is_finished()):
                visited.add(trial.system_attrs["grid_id"])
        return [index for index in range(len(self._all_grids)) if index not in visited]


class PartialFixedSampler(BaseSampler):
    """Fixes some parameters, and draws the others with another sampler.

    Parameters
    ----------
    fixed_params : dict
        Values by name.
    base_sampler : BaseSampler
        For the other parameters.
    """

    def __init__(self, fixed_params: dict[str, Any], base_sampler: BaseSampler) -> None:
        self._fixed_params = fixed_params
        self._base_sampler = base_sampler

    def reseed_rng(self) -> None:
        self._base_sampler.reseed_rng()

    def infer_relative_search_space(self, study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        space = self._base_sampler.infer_relative_search_space(study, trial)
        return {name: distribution for name, distribution in space.items() if name not in self._fixed_params}

    def sample_relative(self, study, trial: FrozenTrial,
                        search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        return self._base_sampler.sample_relative(study, trial, search_space)

    def sample_independent(self, study, trial: FrozenTrial, param_name: str,
                           param_distribution: BaseDistribution) -> Any:
        if param_name not in self._fixed_params:
            return self._base_sampler.sample_independent(study, trial, param_name, param_distribution)
        value = self._fixed_params[param_name]
        if not param_distribution._contains(param_distribution.to_internal_repr(value)):
            warnings.warn(f"the fixed value {value} of '{param_name}' is outside of {param_distribution}", stacklevel=2)
        return value

    def before_trial(self, study, trial: FrozenTrial) -> None:
        self._base_sampler.before_trial(study, trial)

    def after_trial(self, study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._base_sampler.after_trial(study, trial, state, values)
