"""Run by mpirun: every rank grows trees with its share of the rows, and they are those of one process."""

import numpy as np
from sklearn import datasets

import snap_ml
import snap_ml_mpi
from snap_ml_mpi.ranks import ranks

X, y = datasets.make_classification(3000, 8, n_informative=5, random_state=0)
me = ranks()
share = slice(3000 * me.rank // me.size, 3000 * (me.rank + 1) // me.size)
for name, options in (("DecisionTreeClassifier", dict(max_depth=5)), ("BoostingMachineClassifier", dict(num_round=4)),
                      ("RandomForestRegressor", dict(n_estimators=2, max_depth=4))):
    options = dict(options, random_state=3, n_jobs=1)
    together = getattr(snap_ml_mpi, name)(**options).fit(X[share], y[share])
    alone = getattr(snap_ml, name)(**options).fit(X, y)
    assert together.to_json() == alone.to_json(), name
    limited = getattr(snap_ml_mpi, name)(**options, memory_limit="2G").fit(X[share], y[share])
    assert limited.to_json() == alone.to_json(), name
print(f"rank {me.rank} of {me.size}: the same trees")
