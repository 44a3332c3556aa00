"""Import and export of studies of Optuna, by its SQLite databases. Optuna itself is not needed."""

import os
from pathlib import Path

from tutti import _tune
from tutti.tune.pruners import BasePruner
from tutti.tune.samplers import BaseSampler
from tutti.tune.storages import BaseStorage
from tutti.tune.studies import create_study
from tutti.tune.study import Study
from tutti.tune.study_data import json_of, value_of_json
from tutti.tune.study_direction import StudyDirection

__all__ = ["export_optuna", "import_optuna"]


def import_optuna(source: str | os.PathLike, *, storage: str | os.PathLike | BaseStorage | None = None,
                  study_name: str | None = None, sampler: BaseSampler | None = None,
                  pruner: BasePruner | None = None) -> Study:
    """Copy a study of Optuna, with its trials, to a study file or into memory.

    Parameters
    ----------
    source : str or path
        SQLite storage of Optuna 3.0 or newer: a path, or sqlite:///PATH.
    storage : optional
        As for `create_study`. Default: in memory.
    study_name : str, optional
        Not needed if the source has one study.
    sampler, pruner : optional
        As for `create_study`.

    Raises
    ------
    KeyError
        If the source has no study of this name.
    ValueError
        If it has several studies and no name is given.
    OSError
        If it is not a database of Optuna.
    DuplicatedStudyError
        If the name is taken.

    Examples
    --------
    >>> import tutti.tune
    >>> study = tutti.tune.create_study(study_name="demo")
    >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    >>> tutti.tune.export_optuna(study, "optuna.db")
    >>> tutti.tune.import_optuna("optuna.db").best_value == study.best_value
    True
    """
    studies = {study[0]: study for study in _tune.read_optuna(_path_of(source))}
    if study_name is None and len(studies) != 1:
        raise ValueError(f"study_name is needed: {source} has {len(studies)} studies: {', '.join(studies)}")
    name = next(iter(studies)) if study_name is None else study_name
    if name not in studies:
        raise KeyError(f"{source} has no study '{name}'; its studies: {', '.join(studies) or 'none'}")
    _, is_maximized, trials, user, system = studies[name]
    study = create_study(storage=storage, study_name=name, sampler=sampler, pruner=pruner,
                         directions=[StudyDirection(1 + one) for one in is_maximized])
    for is_system, attributes in ((False, user), (True, system)):
        for key, text in attributes.items():
            study._data.set_study_attribute(is_system, key, value_of_json(text))
    for trial in trials:
        trial.user_attributes = _without_nan(trial.user_attributes)
        trial.system_attributes = _without_nan(trial.system_attributes)
        study._core.add(trial)
    return study


def export_optuna(study: Study, path: str | os.PathLike, *, study_name: str | None = None,
                  optuna_version: str = "3.2") -> None:
    """Add a study to an SQLite storage of Optuna, so that other tools such as optuna-dashboard can show it.

    Parameters
    ----------
    study : Study
    path : str or path
        A new file, or a storage of Optuna: a path, or sqlite:///PATH.
    study_name : str, optional
        Default: the name of the study.
    optuna_version : str
        "3.2" for a new file that Optuna 3.2 or newer reads, "3.0" for Optuna 3.0 and 3.1.

    Raises
    ------
    ValueError
        For other versions.
    OSError
        If the file is another database, has a study of this name, or cannot be written.
    """
    if optuna_version not in ("3.0", "3.2"):
        raise ValueError(f"unknown optuna_version '{optuna_version}': use 3.0 or 3.2")
    data = study._data
    user, system = ({key: json_of(value) for key, value in data.study_attributes(is_system).items()}
                    for is_system in (False, True))
    trials = [data.core.trial(number) for number in range(data.core.size())]
    contents = (study_name or study.study_name, data.is_maximized, trials, user, system)
    _tune.write_optuna(_path_of(path), contents, optuna_version == "3.0")


def _path_of(source: str | os.PathLike) -> Path:
    path = os.fspath(source).removeprefix("sqlite:///")
    if "://" in path:
        raise ValueError(f"only SQLite storages can be used, not '{path}'")
    return Path(path)


def _without_nan(attributes: dict[str, str]) -> dict[str, str]:
    """Return JSON of Optuna, which may have NaN and infinity, as JSON of a study file."""
    return {key: json_of(value_of_json(text)) for key, text in attributes.items()}
