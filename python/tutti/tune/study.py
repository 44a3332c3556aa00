"""Studies: optimizations of an objective."""

import copy
import threading
import warnings
import weakref
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from tutti.tune import logging, pruners, samplers
from tutti.tune.base_sampler import NativeSampler, is_overridden
from tutti.tune.distributions import BaseDistribution, is_same_choice
from tutti.tune.frozen_trial import FrozenTrial, create_trial
from tutti.tune.optimize import Loop, end_trial, progress_bar, thread_count
from tutti.tune.storages import BaseStorage
from tutti.tune.study_data import StudyData
from tutti.tune.study_direction import StudyDirection
from tutti.tune.trial import Trial
from tutti.tune.trial_state import TrialState

__all__ = ["MaxTrialsCallback", "ObjectiveFuncType", "Study", "StudyDirection"]

ObjectiveFuncType = Callable[[Trial], float | Sequence[float]]
METRIC_NAMES = "study:metric_names"
_logger = logging.get_logger(__name__)


class _Thread(threading.local):
    is_optimizing = False


class Study:
    """An optimization: asks a sampler for trials, and records their results.

    Returned by `create_study` and `load_study`. Several threads may use one object.

    Attributes
    ----------
    study_name : str
    sampler, pruner
        May be replaced at any time.
    """

    def __init__(self, study_name: str, storage: BaseStorage, sampler: samplers.BaseSampler | None = None,
                 pruner: pruners.BasePruner | None = None) -> None:
        self._attach(storage, storage._data(study_name))
        self.sampler = sampler or samplers.AutoSampler()
        self.pruner = pruner or pruners.MedianPruner()

    def _attach(self, storage: BaseStorage, data: StudyData) -> None:
        self.study_name = data.name
        self._storage = storage
        self._data = data
        self._study_id = data.study_id
        self._thread = _Thread()
        self._is_stopping = False
        self._plan = (0, 1)  # trials and threads, for AutoSampler
        self._native_samplers: weakref.WeakKeyDictionary[NativeSampler, Any] = weakref.WeakKeyDictionary()

    def __getstate__(self):
        return {"storage": self._storage, "name": self.study_name, "sampler": self.sampler, "pruner": self.pruner}

    def __setstate__(self, state) -> None:
        self._attach(state["storage"], state["storage"]._data(state["name"]))
        self.sampler, self.pruner = state["sampler"], state["pruner"]

    @property
    def _core(self):
        return self._data.core

    def _distribution(self, name: str, core) -> BaseDistribution:
        return self._data.distribution(core)

    def _is_multi_objective(self) -> bool:
        return len(self._data.is_maximized) > 1

    @property
    def direction(self) -> StudyDirection:
        """Direction of a single objective."""
        if self._is_multi_objective():
            raise RuntimeError("the study has several objectives: use `directions`")
        return self.directions[0]

    @property
    def directions(self) -> list[StudyDirection]:
        """Direction of every objective."""
        return [StudyDirection.MAXIMIZE if is_maximized else StudyDirection.MINIMIZE
                for is_maximized in self._data.is_maximized]

    @property
    def best_trial(self) -> FrozenTrial:
        """The best complete trial that violates no constraint.

        Raises
        ------
        ValueError
            If no trial is complete and feasible.
        RuntimeError
            If the study has several objectives: use `best_trials`.
        """
        return self._get_best_trial(deepcopy=True)

    def _get_best_trial(self, deepcopy: bool) -> FrozenTrial:
        if self._is_multi_objective():
            raise RuntimeError("the study has several objectives: use `best_trials`")
        best = self._core.best()
        if best is None:
            raise ValueError("no trial is complete and feasible yet")
        trial = self._data.trial(best)
        return copy.deepcopy(trial) if deepcopy else trial

    @property
    def best_value(self) -> float:
        """Value of `best_trial`."""
        return self._get_best_trial(deepcopy=False).value

    @property
    def best_params(self) -> dict[str, Any]:
        """Parameters of `best_trial`."""
        return dict(self._get_best_trial(deepcopy=False).params)

    @property
    def best_trials(self) -> list[FrozenTrial]:
        """The Pareto front: complete and feasible trials of which no other one is better in all objectives."""
        return [copy.deepcopy(self._data.trial(number)) for number in self._core.pareto_front()]

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials in the order of their numbers."""
        return self.get_trials()

    def get_trials(self, deepcopy: bool = True, states: Container[TrialState] | None = None) -> list[FrozenTrial]:
        """Return the trials in the order of their numbers.

        Parameters
        ----------
        deepcopy : bool
            False is faster; the trials must not be changed then.
        states : container of TrialState, optional
            Default: all.
        """
        trials = self._data.trials(states)
        return copy.deepcopy(trials) if deepcopy else trials

    @property
    def user_attrs(self) -> dict[str, Any]:
        """Attributes of the program."""
        return copy.deepcopy(self._data.study_attributes(False))

    @property
    def system_attrs(self) -> dict[str, Any]:
        """Attributes of samplers and callbacks."""
        return copy.deepcopy(self._data.study_attributes(True))

    def set_user_attr(self, key: str, value: Any) -> None:
        """Store something with the study, for example the name of a data set. JSON if the study is in a file."""
        self._data.set_study_attribute(False, key, value)

    def set_system_attr(self, key: str, value: Any) -> None:
        """Store something that a sampler or callback needs."""
        self._data.set_study_attribute(True, key, value)

    @property
    def metric_names(self) -> list[str] | None:
        """Names of the objectives; None unless set."""
        return self._data.study_attributes(True).get(METRIC_NAMES)

    def set_metric_names(self, metric_names: list[str]) -> None:
        """Name the objectives, in their order. The names are columns of `trials_dataframe`."""
        if len(metric_names) != len(self.directions):
            raise ValueError(f"{len(metric_names)} names for {len(self.directions)} objectives")
        self._data.set_study_attribute(True, METRIC_NAMES, list(metric_names))

    def optimize(self, func: ObjectiveFuncType, n_trials: int | None = None, timeout: float | None = None,
                 n_jobs: int = 1, catch: Iterable[type[Exception]] | type[Exception] = (),
                 callbacks: Iterable[Callable[["Study", FrozenTrial], None]] | None = None,
                 gc_after_trial: bool = False, show_progress_bar: bool = False) -> None:
        """Run trials until a limit is reached, `stop` is called, or an objective raises an exception.

        Parameters
        ----------
        func : callable
            The objective: takes a `Trial` and returns one number per objective.
        n_trials : int, optional
            Number of trials. Default: no limit.
        timeout : float, optional
            Seconds after which no trial starts. Default: no limit.
        n_jobs : int
            Threads; -1: one per processor. They run at the same time only while they are outside of Python code, as
            in NumPy or PyTorch; for other programs use `tutti tune --parallel`.
        catch : exception class or classes
            Exceptions that end only their trial.
        callbacks : iterable, optional
            Called as callback(study, trial) after every trial.
        gc_after_trial : bool
            Collect garbage after every trial.
        show_progress_bar : bool
            Needs the package tqdm.

        Raises
        ------
        RuntimeError
            If it is called by an objective of the same study.

        Examples
        --------
        >>> import tutti.tune
        >>> def objective(trial):
        ...     x = trial.suggest_float("x", -10, 10)
        ...     return (x - 2) ** 2
        >>> study = tutti.tune.create_study()
        >>> study.optimize(objective, n_trials=30)
        >>> len(study.trials)
        30
        """
        caught = (catch,) if isinstance(catch, type) else tuple(catch) if isinstance(catch, Iterable) else (catch,)
        if not all(isinstance(one, type) and issubclass(one, BaseException) for one in caught):
            raise TypeError(f"catch must be exception classes, not {catch!r}")
        if self._thread.is_optimizing:
            raise RuntimeError("optimize must not be called by an objective of the same study")
        threads = thread_count(n_jobs)
        progress = progress_bar(n_trials, timeout, n_jobs) if show_progress_bar else None
        self._is_stopping = False
        self._set_plan(n_trials, threads)
        if threads != 1:
            self.sampler.reseed_rng()
        try:
            Loop(self, func, n_trials, timeout, caught, callbacks or (), gc_after_trial, progress).run(threads)
        finally:
            if progress:
                progress.close()

    def _set_plan(self, n_trials: int | None, threads: int) -> None:
        plan = (self._core.size() + n_trials if n_trials else 0, threads)
        if plan != self._plan:
            self._plan = plan
            self._native_samplers.clear()

    def stop(self) -> None:
        """End `optimize` after the running trials. For objectives and callbacks.

        Raises
        ------
        RuntimeError
            Outside of `optimize`.
        """
        if not self._thread.is_optimizing:
            raise RuntimeError("stop is for objectives and callbacks of optimize")
        self._is_stopping = True

    def _request_stop(self) -> None:
        self._is_stopping = True

    def _draws_natively(self) -> bool:
        names = ("before_trial", "infer_relative_search_space", "sample_relative", "sample_independent")
        return isinstance(self.sampler, NativeSampler) and not any(is_overridden(self.sampler, name) for name in names)

    def _start(self) -> int:
        """Start a waiting or new trial and return its number; a native sampler draws its parameters."""
        with self._data.lock:
            core = self.sampler._core(self) if self._draws_natively() else None
            if core is not self._data.sampler or core is None:
                self._core.replace_sampler(core or _DRAWS_NOTHING)
                self._data.sampler = core
            return self._core.ask()

    def ask(self, fixed_distributions: Mapping[str, BaseDistribution] | None = None) -> Trial:
        """Start a trial. The caller evaluates it and passes the result to `tell`.

        Parameters
        ----------
        fixed_distributions : dict, optional
            Parameters to draw at once, by name.

        Examples
        --------
        >>> import tutti.tune
        >>> study = tutti.tune.create_study()
        >>> trial = study.ask()
        >>> x = trial.suggest_float("x", -1, 1)
        >>> study.tell(trial, x**2).state.name
        'COMPLETE'
        """
        trial = Trial(self, self._data.trial_id(self._start()))
        for name, distribution in (fixed_distributions or {}).items():
            trial._suggest(name, distribution)
        return trial

    def tell(self, trial: Trial | int, values: float | Sequence[float] | None = None, state: TrialState | None = None,
             skip_if_finished: bool = False) -> FrozenTrial:
        """End a trial of `ask`.

        Parameters
        ----------
        trial : Trial or int
            The trial or its number.
        values : float or sequence, optional
            One number per objective. Not for failed and pruned trials.
        state : TrialState, optional
            Complete, pruned or failed. Default: complete, or failed if the values are not numbers.
        skip_if_finished : bool
            Do nothing for a trial that has ended.

        Raises
        ------
        ValueError
            If the trial is not running, or values and state do not fit together.
        """
        number = self._number_of(trial)
        known = self._data.trial(number)
        if known.state.is_finished() and skip_if_finished:
            return copy.deepcopy(known)
        if known.state != TrialState.RUNNING:
            raise ValueError(f"trial {number} is {known.state.name}, not running")
        if state is not None and not TrialState(state).is_finished():
            raise ValueError(f"state must be COMPLETE, PRUNED or FAIL, not {TrialState(state).name}")
        if state in (TrialState.PRUNED, TrialState.FAIL) and values is not None:
            raise ValueError(f"a trial with state {TrialState(state).name} has no values")
        reason = end_trial(self, number, values, state)
        if reason:
            warnings.warn(f"trial {number} failed: {reason}", stacklevel=2)
        return copy.deepcopy(self._data.trial(number))

    def _number_of(self, trial: Trial | int) -> int:
        if isinstance(trial, Trial):
            return trial.number
        if not isinstance(trial, int):
            raise TypeError(f"trial must be a trial or its number, not {trial!r}")
        if not 0 <= trial < self._core.size():
            raise ValueError(f"no trial has the number {trial}")
        return trial

    def enqueue_trial(self, params: dict[str, Any], user_attrs: dict[str, Any] | None = None,
                      skip_if_exists: bool = False) -> None:
        """Add a trial with given values of some parameters. It starts before new ones.

        Parameters
        ----------
        params : dict
            Values by name; other parameters are drawn.
        user_attrs : dict, optional
        skip_if_exists : bool
            Do nothing if a trial has or will have the same values.
        """
        if not isinstance(params, dict):
            raise TypeError(f"params must be a dictionary, not {params!r}")
        if skip_if_exists and self._has_trial_with(params):
            _logger.info("A trial with parameters %s exists already.", params)
            return
        self.add_trial(create_trial(state=TrialState.WAITING, system_attrs={"fixed_params": params},
                                    user_attrs=user_attrs))

    def _has_trial_with(self, params: dict[str, Any]) -> bool:
        for trial in self._data.trials():
            known = trial.system_attrs.get("fixed_params", trial.params) if not trial.state.is_finished() \
                else trial.params
            if known.keys() == params.keys() and all(is_same_choice(known[name], params[name]) for name in params):
                return True
        return False

    def add_trial(self, trial: FrozenTrial) -> None:
        """Add a trial as it is; it gets the next number. See `create_trial`.

        Raises
        ------
        ValueError
            If it is not valid, or does not have one value per objective.
        """
        trial._validate()
        if trial.values is not None and len(trial.values) != len(self.directions):
            raise ValueError(f"the trial has {len(trial.values)} values, but the study has {len(self.directions)} "
                             "objectives")
        self._data.add(trial)

    def add_trials(self, trials: Iterable[FrozenTrial]) -> None:
        """Add several trials, for example those of another study: `study.add_trials(other.trials)`."""
        for trial in trials:
            self.add_trial(trial)

    def _set_trial_attribute(self, number: int, is_system: bool, key: str, value: Any) -> None:
        self._data.set_attribute(number, is_system, key, value)

    def trials_dataframe(self, attrs: tuple[str, ...] = ("number", "value", "datetime_start", "datetime_complete",
                                                         "duration", "params", "user_attrs", "system_attrs", "state"),
                         multi_index: bool = False):
        """Return the trials as a pandas.DataFrame with one row per trial.

        Parameters
        ----------
        attrs : tuple of str
            Attributes of `FrozenTrial`. Those that are dictionaries become one column per key, such as params_x.
        multi_index : bool
            Columns of two levels, such as ("params", "x").
        """
        from tutti.tune.dataframe import trials_dataframe

        return trials_dataframe(self, attrs, multi_index)

    def _log_completed_trial(self, values: list[float], number: int, params: dict[str, Any]) -> None:
        if not _logger.isEnabledFor(logging.INFO):
            return
        names = self.metric_names
        if len(values) > 1:
            shown = dict(zip(names, values, strict=True)) if names else values
            _logger.info("Trial %d finished with values: %s and parameters: %s.", number, shown, params)
            return
        shown = {names[0]: values[0]} if names else values[0]
        best = self._core.best()
        if best is None:
            _logger.info("Trial %d finished with value: %s and parameters: %s.", number, shown, params)
        else:
            _logger.info("Trial %d finished with value: %s and parameters: %s. Best is trial %d with value: %s.", number,
                         shown, params, best, self._data.trial(best).value)


class MaxTrialsCallback:
    """Callback that stops a study once it has `n_trials` trials in one of `states` (None: any), of earlier runs too.

    Examples
    --------
    >>> import tutti.tune
    >>> study = tutti.tune.create_study()
    >>> study.optimize(lambda trial: 0, callbacks=[tutti.tune.study.MaxTrialsCallback(3)])
    >>> len(study.trials)
    3
    """

    def __init__(self, n_trials: int, states: Container[TrialState] | None = (TrialState.COMPLETE,)) -> None:
        self._n_trials, self._states = n_trials, states

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        if len(study.get_trials(deepcopy=False, states=self._states)) >= self._n_trials:
            study.stop()


_DRAWS_NOTHING = samplers.RandomSampler(0)._make(None)
