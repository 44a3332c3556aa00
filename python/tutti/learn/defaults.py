"""Defaults of the estimators, from the option table in C++ (docs/reference/learn-options.md)."""

from tutti import _model

_TABLE = _model.defaults()

FIT_INTERCEPT = _TABLE["fit_intercept"]
SOLVER = _TABLE["solver"]
TOL = _TABLE["tolerance"]
MAX_ITER = _TABLE["max_iterations"]
TREES = _TABLE["trees"]
LEARNING_RATE = _TABLE["learning_rate"]
MAX_LEAVES = _TABLE["max_leaves"]
