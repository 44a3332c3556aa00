"""Hyper-parameter search with the API of Optuna.

An existing script runs with `import tutti.tune as optuna`.

Examples
--------
>>> import tutti.tune as optuna
>>> def objective(trial):
...     x = trial.suggest_float("x", -10, 10)
...     kind = trial.suggest_categorical("kind", ["square", "absolute"])
...     return (x - 2) ** 2 if kind == "square" else abs(x - 2)
>>> study = optuna.create_study(sampler=optuna.samplers.AutoSampler(seed=1))
>>> study.optimize(objective, n_trials=40)
>>> study.best_value < 0.1
True
"""

from tutti import __version__
from tutti.tune import (distributions, exceptions, importance, logging, pruners, samplers, search_space, storages,
                        study, trial)
from tutti.tune.exceptions import TrialPruned
from tutti.tune.optuna_files import export_optuna, import_optuna
from tutti.tune.studies import (StudySummary, copy_study, create_study, delete_study, get_all_study_names,
                                get_all_study_summaries, load_study)
from tutti.tune.study import Study
from tutti.tune.study_direction import StudyDirection
from tutti.tune.trial import FrozenTrial, Trial, create_trial

__all__ = ["__version__", "FrozenTrial", "Study", "StudyDirection", "StudySummary", "Trial", "TrialPruned",
           "copy_study", "create_study", "create_trial", "delete_study", "distributions", "exceptions", "export_optuna",
           "get_all_study_names", "get_all_study_summaries", "import_optuna", "importance", "load_study", "logging",
           "pruners", "samplers", "search_space", "storages", "study", "trial"]

# optuna.study.create_study and others are names of that module, too.
for _name in ("StudySummary", "copy_study", "create_study", "delete_study", "get_all_study_names",
              "get_all_study_summaries", "load_study"):
    setattr(study, _name, globals()[_name])
del _name
