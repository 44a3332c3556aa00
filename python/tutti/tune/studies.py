"""Creation, loading, copying and listing of studies."""

import os
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tutti.tune import exceptions, logging
from tutti.tune.frozen_trial import FrozenTrial
from tutti.tune.pruners import BasePruner
from tutti.tune.samplers import BaseSampler
from tutti.tune.storages import BaseStorage, FileStorage, get_storage
from tutti.tune.study import Study
from tutti.tune.study_direction import StudyDirection

__all__ = ["StudySummary", "copy_study", "create_study", "delete_study", "get_all_study_names",
           "get_all_study_summaries", "load_study"]

Storage = str | os.PathLike | BaseStorage
_logger = logging.get_logger(__name__)


def create_study(*, storage: Storage | None = None, sampler: BaseSampler | None = None,
                 pruner: BasePruner | None = None, study_name: str | None = None,
                 direction: str | StudyDirection | None = None, load_if_exists: bool = False,
                 directions: Sequence[str | StudyDirection] | None = None) -> Study:
    """Create a study.

    Parameters
    ----------
    storage : str, path or storage, optional
        Path of a study file, or sqlite:///PATH; every result is on the disk before the next trial starts. Default: in
        memory. One process at a time can write a file.
    sampler : BaseSampler, optional
        Default: `samplers.AutoSampler`.
    pruner : BasePruner, optional
        Default: `pruners.MedianPruner`.
    study_name : str, optional
        Default: a generated name.
    direction : str, optional
        "minimize", the default, or "maximize".
    load_if_exists : bool
        Continue a study of this name, if the storage has one.
    directions : sequence of str, optional
        One per objective, if there are several.

    Raises
    ------
    DuplicatedStudyError
        If the name is taken.
    ValueError
        For unknown directions, or if another process writes the file.

    Examples
    --------
    >>> import tutti.tune
    >>> study = tutti.tune.create_study(study_name="demo", storage="study.db", direction="maximize")
    >>> study.optimize(lambda trial: trial.suggest_int("x", 0, 9), n_trials=5)
    >>> tutti.tune.load_study(study_name="demo", storage="study.db").best_value == study.best_value
    True
    """
    parsed = _directions_of(direction, directions)
    opened = get_storage(storage)
    name = study_name or f"no-name-{uuid.uuid4()}"
    try:
        opened._create(name, [one == StudyDirection.MAXIMIZE for one in parsed])
        where = "in memory" if not isinstance(opened, FileStorage) else f"in {opened.path}"
        _logger.info("A new study created %s with name: %s", where, name)
    except exceptions.DuplicatedStudyError:
        if not load_if_exists or study_name is None:
            raise
        _logger.info("Using an existing study with name '%s' instead of creating a new one.", name)
    return Study(name, opened, sampler, pruner)


def _directions_of(direction: str | StudyDirection | None,
                   directions: Sequence[str | StudyDirection] | None) -> list[StudyDirection]:
    if direction is not None and directions is not None:
        raise ValueError("give direction or directions, not both")
    if isinstance(directions, str):
        raise ValueError(f"directions must be a list, such as ['{directions}']")
    given = ["minimize" if direction is None else direction] if directions is None else list(directions)
    if not given:
        raise ValueError("directions must not be empty")
    parsed = []
    for one in given:
        names = {"minimize": StudyDirection.MINIMIZE, "maximize": StudyDirection.MAXIMIZE}
        if isinstance(one, str) and one in names:
            parsed.append(names[one])
        elif isinstance(one, StudyDirection) and one != StudyDirection.NOT_SET:
            parsed.append(one)
        else:
            raise ValueError(f"a direction must be 'minimize' or 'maximize', not {one!r}")
    return parsed


def load_study(*, study_name: str | None = None, storage: Storage, sampler: BaseSampler | None = None,
               pruner: BasePruner | None = None, read_only: bool = False) -> Study:
    """Continue a study of a storage.

    Trials that a process left running when it exited become failed: the lock of the file proves that none runs them.

    Parameters
    ----------
    study_name : str, optional
        Not needed if the storage has one study.
    storage : str, path or storage
        Path of a study file, or sqlite:///PATH.
    sampler, pruner : optional
        As for `create_study`.
    read_only : bool
        Also works while another process writes the file. The study has the trials of the time of loading.

    Raises
    ------
    KeyError
        If the storage has no study of this name.
    ValueError
        If several studies exist and no name is given, or another process writes the file.
    OSError
        If the file is not a study file.
    """
    opened = _existing(storage, is_writable=not read_only)
    names = opened._names()
    if study_name is None and len(names) != 1:
        raise ValueError(f"study_name is needed: the storage has {len(names)} studies: {', '.join(names)}")
    return Study(study_name or names[0], opened, sampler, pruner)


def delete_study(*, study_name: str, storage: Storage) -> None:
    """Delete a study with its trials. Raises KeyError for an unknown name."""
    _existing(storage)._delete(study_name)


def copy_study(*, from_study_name: str, from_storage: Storage, to_storage: Storage,
               to_study_name: str | None = None) -> None:
    """Copy a study with its trials and attributes to the same or another storage.

    Raises
    ------
    DuplicatedStudyError
        If the name is taken.
    """
    source = load_study(study_name=from_study_name, storage=from_storage)
    target = create_study(study_name=to_study_name or from_study_name, storage=to_storage, load_if_exists=False,
                          directions=source.directions)
    for is_system in (False, True):
        for key, value in source._data.study_attributes(is_system).items():
            target._data.set_study_attribute(is_system, key, value)
    target.add_trials(source.get_trials(deepcopy=False))


class StudySummary:
    """A study without its trials.

    Attributes
    ----------
    study_name : str
    directions : list of StudyDirection
    best_trial : FrozenTrial or None
    user_attrs, system_attrs : dict
    n_trials : int
    datetime_start : datetime or None
        Start of the first trial.
    """

    def __init__(self, study_name: str, direction: StudyDirection | None, best_trial: FrozenTrial | None,
                 user_attrs: dict[str, Any], system_attrs: dict[str, Any], n_trials: int,
                 datetime_start: datetime | None, study_id: int, *,
                 directions: Sequence[StudyDirection] | None = None) -> None:
        if (direction is None) == (directions is None):
            raise ValueError("give direction or directions")
        self.study_name = study_name
        self.directions = list(directions) if directions is not None else [direction]
        self.best_trial = best_trial
        self.user_attrs = user_attrs
        self.system_attrs = system_attrs
        self.n_trials = n_trials
        self.datetime_start = datetime_start
        self._study_id = study_id

    @property
    def direction(self) -> StudyDirection:
        if len(self.directions) > 1:
            raise RuntimeError("the study has several objectives: use `directions`")
        return self.directions[0]

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, StudySummary) else NotImplemented

    __hash__ = None

    def __lt__(self, other: object) -> bool:
        return self._study_id < other._study_id if isinstance(other, StudySummary) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self._study_id <= other._study_id if isinstance(other, StudySummary) else NotImplemented


def get_all_study_names(storage: Storage) -> list[str]:
    """Return the names of the studies of a storage. Also works while another process writes it."""
    return _readable(storage)._names()


def get_all_study_summaries(storage: Storage, include_best_trial: bool = True) -> list[StudySummary]:
    """Return a summary of every study of a storage. Also works while another process writes it."""
    summaries = []
    opened = _readable(storage)
    for data in opened._all():
        trials = data.trials()
        best = data.core.best() if include_best_trial and len(data.is_maximized) == 1 else None
        summaries.append(StudySummary(
            study_name=data.name, direction=None, directions=opened.get_study_directions(data.study_id),
            best_trial=None if best is None else data.trial(best), user_attrs=data.study_attributes(False),
            system_attrs=data.study_attributes(True), n_trials=len(trials),
            datetime_start=min((one.datetime_start for one in trials if one.datetime_start), default=None),
            study_id=data.study_id))
    return summaries


def _readable(storage: Storage) -> BaseStorage:
    return _existing(storage, is_writable=False)


def _existing(storage: Storage, is_writable: bool = True) -> BaseStorage:
    """Return a storage without creating its file."""
    if not isinstance(storage, BaseStorage):
        path = os.fspath(storage).removeprefix("sqlite:///")
        if path not in ("", ":memory:") and "://" not in path and not Path(path).exists():
            raise FileNotFoundError(f"no study file {path}")
    return get_storage(storage, is_writable)
