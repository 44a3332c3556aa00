"""The known names and defaults of Snap ML over tutti.learn.

`regularizer` is lambda in  sum of losses + lambda / 2 * |w|^2, the intercept is off by default and penalised as a column of
`intercept_scaling`, `num_threads` (or `n_jobs`) counts threads, `dual` is accepted and decides nothing: the solver is chosen by the
data; neither do `device_ids`, `gpu_id`, `gpu_ids` and `compress_trees`. There is no GPU build: `use_gpu=True` says so and goes on with
the processors.
"""

from snap_ml.estimators import BoostingMachine, LinearRegression, LogisticRegression, SupportVectorMachine
from snap_ml.patch import patch_sklearn, unpatch_sklearn
from tutti.learn.tree import (BoostingMachineClassifier, BoostingMachineRegressor, DecisionTreeClassifier, DecisionTreeRegressor,
                              ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor)

__all__ = ["BoostingMachine", "BoostingMachineClassifier", "BoostingMachineRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor",
           "ExtraTreesClassifier", "ExtraTreesRegressor", "LinearRegression", "LogisticRegression", "RandomForestClassifier",
           "RandomForestRegressor", "SupportVectorMachine", "patch_sklearn", "unpatch_sklearn"]
