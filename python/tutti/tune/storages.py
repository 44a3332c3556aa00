"""Storages: study files, and studies in memory."""

import copy
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tutti import _tune
from tutti.tune import exceptions, logging
from tutti.tune.frozen_trial import FrozenTrial
from tutti.tune.study_data import StudyData, study_and_number
from tutti.tune.study_direction import StudyDirection
from tutti.tune.trial_state import TrialState

__all__ = ["BaseStorage", "FileStorage", "InMemoryStorage", "RDBStorage", "get_storage"]

_logger = logging.get_logger(__name__)
_lock = threading.RLock()


class BaseStorage:
    """The studies of a file, or of this object. Functions raise KeyError for unknown studies and trials.

    Programs pass a storage to `create_study`. Its functions are for samplers and callbacks that store attributes.
    """

    def __init__(self) -> None:
        self._studies: dict[int, StudyData] = {}

    def _data(self, name: str) -> StudyData:
        """Return a study by name."""
        for data in self._studies.values():
            if data.name == name:
                return data
        raise KeyError(f"no study '{name}'; the studies are: {', '.join(self._names()) or 'none'}")

    def _names(self) -> list[str]:
        return [data.name for data in self._studies.values()]

    def _create(self, name: str, is_maximized: Sequence[bool]) -> StudyData:
        with _lock:
            if name in self._names():
                raise exceptions.DuplicatedStudyError(f"a study '{name}' exists already: pass load_if_exists=True to "
                                                      "continue it, or choose another name")
            study_id = 1 + max(self._studies, default=0)
            data = self._studies[study_id] = StudyData(study_id, name, is_maximized)
            return data

    def _delete(self, name: str) -> None:
        with _lock:
            del self._studies[self._data(name).study_id]

    def _all(self) -> list[StudyData]:
        return [self._data(name) for name in self._names()]

    def _by_id(self, study_id: int) -> StudyData:
        for data in self._all():
            if data.study_id == study_id:
                return data
        raise KeyError(f"no study with id {study_id}")

    def _of_trial(self, trial_id: int) -> tuple[StudyData, int]:
        study_id, number = study_and_number(trial_id)
        data = self._by_id(study_id)
        if number >= data.core.size():
            raise KeyError(f"no trial with id {trial_id}")
        return data, number

    def create_new_study(self, directions: Sequence[StudyDirection], study_name: str) -> int:
        return self._create(study_name, [one == StudyDirection.MAXIMIZE for one in directions]).study_id

    def delete_study(self, study_id: int) -> None:
        self._delete(self._by_id(study_id).name)

    def get_study_id_from_name(self, study_name: str) -> int:
        return self._data(study_name).study_id

    def get_study_name_from_id(self, study_id: int) -> str:
        return self._by_id(study_id).name

    def get_study_directions(self, study_id: int) -> list[StudyDirection]:
        return [StudyDirection(1 + is_maximized) for is_maximized in self._by_id(study_id).is_maximized]

    def get_study_user_attrs(self, study_id: int) -> dict[str, Any]:
        return self._by_id(study_id).study_attributes(False)

    def get_study_system_attrs(self, study_id: int) -> dict[str, Any]:
        return self._by_id(study_id).study_attributes(True)

    def set_study_user_attr(self, study_id: int, key: str, value: Any) -> None:
        self._by_id(study_id).set_study_attribute(False, key, value)

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        self._by_id(study_id).set_study_attribute(True, key, value)

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        data = self._by_id(study_id)
        number = data.core.ask() if template_trial is None else data.add(template_trial)
        return data.trial_id(number)

    def set_trial_param(self, trial_id: int, param_name: str, param_value_internal: float, distribution: Any) -> None:
        data, number = self._of_trial(trial_id)
        data.core.set_parameter(number, param_name, data.register(distribution), param_value_internal)

    def set_trial_state_values(self, trial_id: int, state: TrialState, values: Sequence[float] | None = None) -> bool:
        data, number = self._of_trial(trial_id)
        data.core.tell(number, int(state), list(values or []))
        return True

    def set_trial_intermediate_value(self, trial_id: int, step: int, intermediate_value: float) -> None:
        data, number = self._of_trial(trial_id)
        data.core.report(number, step, intermediate_value)

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        data, number = self._of_trial(trial_id)
        data.set_attribute(number, False, key, value)

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        data, number = self._of_trial(trial_id)
        data.set_attribute(number, True, key, value)

    def get_trial(self, trial_id: int) -> FrozenTrial:
        data, number = self._of_trial(trial_id)
        return data.trial(number)

    def get_trial_number_from_id(self, trial_id: int) -> int:
        return self._of_trial(trial_id)[1]

    def get_trial_id_from_study_id_trial_number(self, study_id: int, trial_number: int) -> int:
        return self._by_id(study_id).trial_id(trial_number)

    def get_trial_system_attrs(self, trial_id: int) -> dict[str, Any]:
        return self.get_trial(trial_id).system_attrs

    def get_trial_user_attrs(self, trial_id: int) -> dict[str, Any]:
        return self.get_trial(trial_id).user_attrs

    def get_trial_params(self, trial_id: int) -> dict[str, Any]:
        return self.get_trial(trial_id).params

    def get_all_trials(self, study_id: int, deepcopy: bool = True,
                       states: Sequence[TrialState] | None = None) -> list[FrozenTrial]:
        trials = self._by_id(study_id).trials(states)
        return copy.deepcopy(trials) if deepcopy else trials

    def get_n_trials(self, study_id: int, state: Sequence[TrialState] | TrialState | None = None) -> int:
        states = (state,) if isinstance(state, TrialState) else state
        return len(self._by_id(study_id).trials(states))

    def get_best_trial(self, study_id: int) -> FrozenTrial:
        data = self._by_id(study_id)
        best = data.core.best()
        if best is None:
            raise ValueError("no trial is complete yet")
        return data.trial(best)

    def remove_session(self) -> None:
        """Do nothing: every change is on the disk when a function returns."""


class InMemoryStorage(BaseStorage):
    """Studies that end with the process."""


class FileStorage(BaseStorage):
    """Studies of a file. The process that opens it is the only one that writes it, until the object is deleted."""

    def __init__(self, path: str | os.PathLike, is_writable: bool = True) -> None:
        super().__init__()
        self.path = Path(path).absolute()
        self._is_writable = is_writable
        self._file = _tune.StudyFile(self.path, is_writable)

    def __reduce__(self):
        return get_storage, (str(self.path),)

    def _names(self) -> list[str]:
        return [name for _, name, _ in self._file.studies()]

    def _data(self, name: str) -> StudyData:
        with _lock:
            for study_id, known, is_maximized in self._file.studies():
                if known != name:
                    continue
                if study_id not in self._studies:
                    self._studies[study_id] = StudyData(study_id, name, is_maximized, self._file)
                    if self._is_writable:
                        self._fail_stale(self._studies[study_id])
                return self._studies[study_id]
        raise KeyError(f"{self.path} has no study '{name}'; its studies: {', '.join(self._names()) or 'none'}")

    def _create(self, name: str, is_maximized: Sequence[bool]) -> StudyData:
        with _lock:
            if name in self._names():
                raise exceptions.DuplicatedStudyError(f"{self.path} has a study '{name}' already: pass "
                                                      "load_if_exists=True to continue it, or choose another name")
            self._file.create(name, list(is_maximized))
            return self._data(name)

    def _delete(self, name: str) -> None:
        with _lock:
            study_id = self._data(name).study_id
            self._file.remove(name)
            del self._studies[study_id]

    @staticmethod
    def _fail_stale(data: StudyData) -> None:
        # The lock of the file proves that no other process runs them.
        stale = data.fail_running()
        if stale:
            _logger.warning("Study '%s': the process that ran the trials %s has exited. They are marked as failed.",
                            data.name, ", ".join(map(str, stale)))


_open_files: "weakref.WeakValueDictionary[Path, FileStorage]" = weakref.WeakValueDictionary()


def RDBStorage(url: str, engine_kwargs: dict[str, Any] | None = None, **ignored: Any) -> BaseStorage:  # noqa: N802
    """Return the storage of a URL such as sqlite:///study.db. The name is Optuna's; options of it have no effect."""
    return get_storage(url)


def get_storage(storage: str | os.PathLike | BaseStorage | None, is_writable: bool = True) -> BaseStorage:
    """Return the storage of a path or URL. All studies of a process share one storage per file.

    Raises
    ------
    ValueError
        For URLs of other databases, or if another process writes the file.
    OSError
        If the file is not a study file.
    """
    if storage is None:
        return InMemoryStorage()
    if isinstance(storage, BaseStorage):
        return storage
    path = os.fspath(storage)
    if path.startswith("sqlite:///"):
        path = path.removeprefix("sqlite:///")
        if path in ("", ":memory:"):
            return InMemoryStorage()
    elif "://" in path:
        raise ValueError(f"unknown storage '{path}': use the path of a study file, or sqlite:///PATH")
    key = Path(path).resolve()
    with _lock:
        known = _open_files.get(key)
        if known is None:
            known = FileStorage(key, is_writable)
            if is_writable:
                _open_files[key] = known
        return known
