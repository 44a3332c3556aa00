"""Run by mpirun: every rank grows trees on its part of the rows; they are those of a single process."""

import numpy as np
from sklearn import datasets

import snap_ml
import snap_ml_mpi
from snap_ml_mpi.ranks import gather, ranks

X, y = datasets.make_classification(3000, 8, n_informative=5, random_state=0)
order = np.argsort(y + 0.3 * np.random.default_rng(0).normal(size=3000))  # class frequencies differ between ranks
X, y = X[order], y[order]
weights = np.random.default_rng(1).uniform(0.1, 2, 3000)
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

# Fractions of the rows refer to the rows of all ranks.
for name, options in (("DecisionTreeClassifier", dict(class_weight="balanced", min_samples_leaf=0.01, min_impurity_decrease=0.001)),
                      ("DecisionTreeClassifier", dict(class_weight={0: 3.0}, min_samples_split=0.05)),
                      ("RandomForestClassifier", dict(n_estimators=3, max_samples=700, class_weight="balanced")),
                      ("RandomForestRegressor", dict(n_estimators=3, max_samples=0.3, min_weight_fraction_leaf=0.02)),
                      ("ExtraTreesClassifier", dict(n_estimators=3, min_samples_leaf=0.005)),
                      ("ExtraTreesRegressor", dict(n_estimators=3, bootstrap=True, max_samples=500)),
                      ("BoostingMachineClassifier", dict(num_round=3, class_weight="balanced"))):
    options = dict(options, random_state=5, n_jobs=1)
    for w in (None, weights):
        together = getattr(snap_ml_mpi, name)(**options).fit(X[share], y[share], None if w is None else w[share])
        alone = getattr(snap_ml, name)(**options).fit(X, y, w)
        assert together.to_json() == alone.to_json(), (name, options, w is None)

# Without a seed all ranks use that of rank 0.
forest = snap_ml_mpi.RandomForestClassifier(3, max_depth=5, n_jobs=1).fit(X[share], y[share])
assert len(set(gather([forest.predict_proba(X)[:, 1].sum()]))) == 1
print(f"rank {me.rank} of {me.size}: the same trees")
