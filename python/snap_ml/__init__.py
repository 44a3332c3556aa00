"""Snap ML's API on tutti.learn: its estimators, parameter names and defaults.

Differences from the estimators of `tutti.learn`:

- `regularizer` is lambda in: sum of losses + lambda / 2 * |w|^2.
- The intercept is off by default, and penalised as the weight of a column of `intercept_scaling`.
- `num_threads` or `n_jobs` is the number of threads.
- `dual`, `device_ids`, `gpu_id`, `gpu_ids` and `compress_trees` are accepted and ignored: the solver is chosen by the
  data. There is no GPU build: `use_gpu=True` warns and trains on CPUs.

`patch_sklearn` accelerates existing scikit-learn programs.
"""

from snap_ml.estimators import BoostingMachine, LinearRegression, LogisticRegression, SupportVectorMachine
from snap_ml.patch import patch_sklearn, unpatch_sklearn
from tutti.learn.tree import (BoostingMachineClassifier, BoostingMachineRegressor, DecisionTreeClassifier, DecisionTreeRegressor,
                              ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor)

__all__ = ["BoostingMachine", "BoostingMachineClassifier", "BoostingMachineRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor",
           "ExtraTreesClassifier", "ExtraTreesRegressor", "LinearRegression", "LogisticRegression", "RandomForestClassifier",
           "RandomForestRegressor", "SupportVectorMachine", "patch_sklearn", "unpatch_sklearn"]
