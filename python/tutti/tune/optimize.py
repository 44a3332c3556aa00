"""The loop of Study.optimize, and the end of a trial."""

import gc
import math
import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tutti.tune import logging
from tutti.tune.base_sampler import NativeSampler, is_overridden, store_constraints
from tutti.tune.frozen_trial import FrozenTrial
from tutti.tune.trial import Trial
from tutti.tune.trial_state import TrialState

__all__ = ["Loop", "end_trial", "run_trial"]

_logger = logging.get_logger(__name__)


class Loop:
    """One call of Study.optimize. Threads take trials until one of the limits is reached."""

    def __init__(self, study, objective: Callable[[Trial], Any], n_trials: int | None, timeout: float | None,
                 catch: tuple[type[Exception], ...], callbacks: Iterable[Callable[[Any, FrozenTrial], None]],
                 gc_after_trial: bool, progress) -> None:
        self._study, self._objective, self._left, self._catch = study, objective, n_trials, catch
        self._callbacks, self._gc_after_trial, self._progress = list(callbacks), gc_after_trial, progress
        self._end = None if timeout is None else time.monotonic() + timeout
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def run(self, threads: int) -> None:
        """Run trials in this thread, or in others. Raises the first exception of an objective or callback."""
        if threads == 1:
            self._work()
        else:
            with ThreadPoolExecutor(threads) as pool:
                futures = [pool.submit(self._work) for _ in range(threads)]
                try:
                    for future in futures:
                        future.result()
                except BaseException as error:  # Ctrl-C: the running trials end, then the exception continues
                    self._fail(error)
        if self._error:
            raise self._error

    def _work(self) -> None:
        self._study._thread.is_optimizing = True
        try:
            while self._takes_trial():
                trial = run_trial(self._study, self._objective, self._catch)
                if self._gc_after_trial:
                    gc.collect()
                for callback in self._callbacks:
                    callback(self._study, trial)
                if self._progress:
                    self._progress.update(self._study)
        except BaseException as error:
            self._fail(error)
        finally:
            self._study._thread.is_optimizing = False

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error

    def _takes_trial(self) -> bool:
        with self._lock:
            is_late = self._end is not None and time.monotonic() >= self._end
            if self._error or self._study._is_stopping or is_late or self._left == 0:
                return False
            if self._left is not None:
                self._left -= 1
            return True


class ProgressBar:
    """Progress by trials, or by time if their number is not limited. Uses tqdm."""

    def __init__(self, n_trials: int | None, timeout: float | None) -> None:
        from tqdm.auto import tqdm

        self._lock = threading.Lock()
        self._is_timed = n_trials is None
        self._start = self._last = time.monotonic()
        self._timeout = timeout
        if self._is_timed:
            form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}/" + tqdm.format_interval(timeout)
            self._bar = tqdm(total=timeout, bar_format=form)
        else:
            self._bar = tqdm(total=n_trials)

    def update(self, study) -> None:
        with self._lock:
            best = None if study._is_multi_objective() else study._core.best()
            if best is not None:
                self._bar.set_description(f"Best trial: {best}. Best value: {study._data.trial(best).value:.6g}")
            now = time.monotonic()
            if self._is_timed:
                self._bar.update(min(now - self._last, max(0.0, self._timeout - self._bar.n)))
                self._last = now
            else:
                self._bar.update(1)

    def close(self) -> None:
        self._bar.close()


def progress_bar(n_trials: int | None, timeout: float | None, n_jobs: int) -> ProgressBar | None:
    """Return a progress bar, or None with a warning if it cannot be shown."""
    reason = ""
    if n_trials is None and timeout is None:
        reason = "The progress bar needs n_trials or timeout."
    elif n_trials is None and n_jobs != 1:
        reason = "The timeout-based progress bar is not supported with n_jobs != 1."
    else:
        try:
            return ProgressBar(n_trials, timeout)
        except ImportError:
            reason = "The progress bar needs the package tqdm."
    warnings.warn(reason, stacklevel=4)
    return None


def thread_count(n_jobs: int) -> int:
    """Return the number of threads: -1 is one per processor."""
    if n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be positive, or -1 for one thread per processor, not {n_jobs}")
    return (os.cpu_count() or 1) if n_jobs == -1 else n_jobs


def run_trial(study, objective: Callable[[Trial], Any], catch: tuple[type[Exception], ...]) -> FrozenTrial:
    """Run one trial, and raise the exception of its objective unless it is one of `catch`."""
    trial = study.ask()
    values, state, error, cause = None, None, None, ""
    try:
        values = objective(trial)
    except (Exception, KeyboardInterrupt) as failure:
        if _is_pruned(failure):
            state, cause = TrialState.PRUNED, str(failure)
        else:
            state, error = TrialState.FAIL, failure
            cause = "".join(traceback.format_exception(failure))
    problem = end_trial(study, trial.number, values, state)
    done = study._data.trial(trial.number)
    if done.state == TrialState.COMPLETE:
        study._log_completed_trial(done.values, done.number, done.params)
    elif done.state == TrialState.PRUNED:
        _logger.info("Trial %d pruned. %s", done.number, cause)
    elif not isinstance(error, KeyboardInterrupt):
        _logger.warning("Trial %d failed with parameters: %s because of the following error: %s", done.number,
                        done.params, cause or problem)
    if error and not isinstance(error, catch):
        raise error
    return done


def _is_pruned(failure: BaseException) -> bool:
    """Return True for TrialPruned, also that of Optuna, which callbacks for training libraries raise."""
    return any(one.__name__ == "TrialPruned" for one in type(failure).__mro__)


def end_trial(study, number: int, result: Any, state: TrialState | None) -> str:
    """Store the result of a trial. Without a state, a trial with an invalid result fails; returns the reason then."""
    values = None if result is None else list(result) if isinstance(result, Sequence) and not isinstance(result, str) \
        else [result]
    reason = ""
    if state == TrialState.PRUNED:
        values = _last_report(study, number)
    elif state != TrialState.FAIL:
        reason = _problem_of(study, values)
        if reason and state == TrialState.COMPLETE:
            raise ValueError(reason)
        state = TrialState.FAIL if reason else TrialState.COMPLETE
    numbers = None if reason or values is None else [float(value) for value in values]
    try:
        _call_after_trial(study, number, state, numbers if state == TrialState.COMPLETE else None)
    finally:
        study._core.tell(number, int(state), numbers or [])
    return reason


def _call_after_trial(study, number: int, state: TrialState, values: list[float] | None) -> None:
    sampler = study.sampler
    if is_overridden(sampler, "after_trial"):
        sampler.after_trial(study, study._data.trial(number), state, values)
    elif isinstance(sampler, NativeSampler) and sampler._constraints_func:
        store_constraints(sampler._constraints_func, study, study._data.trial(number), state)


def _last_report(study, number: int) -> list[float] | None:
    reports = study._core.trial(number).reports
    is_usable = reports and not math.isnan(reports[-1][1]) and not study._is_multi_objective()
    return [reports[-1][1]] if is_usable else None


def _problem_of(study, values: list[Any] | None) -> str:
    """Return why the values are not a result; empty: they are."""
    if values is None:
        return "The value None could not be cast to float"
    for value in values:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return f"The value {value!r} could not be cast to float"
        if math.isnan(number):
            return f"The value {value} is not acceptable"
    expected = len(study.directions)
    if len(values) != expected:
        return f"The trial has {len(values)} values, but the study has {expected} objectives"
    return ""
