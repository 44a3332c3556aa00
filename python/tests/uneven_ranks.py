"""Run by mpirun: one rank has no rows, or another number of columns."""

import warnings

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning

import snap_ml
import snap_ml_mpi
from snap_ml_mpi.ranks import ranks

warnings.simplefilter("ignore", ConvergenceWarning)
X, y = datasets.make_classification(900, 6, n_informative=4, random_state=0)
y3 = np.digitize(X[:, 0], [-0.5, 0.5])
me = ranks()
rest = me.size - 1
share = slice(900 * (me.rank - 1) // rest, 900 * me.rank // rest) if me.rank > 0 else slice(0, 0)  # rank 0 has no rows

for name, labels, options in (("LogisticRegression", y, {}), ("LogisticRegression", y3, {"fit_intercept": True}),
                              ("LinearRegression", X[:, 1] + X[:, 0], {}), ("LogisticRegression", y, {"penalty": "l1", "dual": False}),
                              ("SupportVectorMachine", y, {})):
    together = getattr(snap_ml_mpi, name)(tol=1e-9, n_jobs=1, **options).fit(X[share], labels[share])
    alone = getattr(snap_ml, name)(tol=1e-9, n_jobs=1, **options).fit(X, labels)
    np.testing.assert_allclose(together.coef_, alone.coef_, rtol=1e-3, atol=1e-3, err_msg=name)

for name, labels, options in (("DecisionTreeClassifier", y, {"max_depth": 5}), ("RandomForestRegressor", X[:, 0], {"n_estimators": 3}),
                              ("BoostingMachineClassifier", y, {"num_round": 3}), ("DecisionTreeRegressor", X[:, 0] ** 3, {})):
    for weights in (None, np.linspace(0.1, 2, 900)):
        options = dict(options, random_state=0, n_jobs=1)
        together = getattr(snap_ml_mpi, name)(**options).fit(X[share], labels[share], None if weights is None else weights[share])
        alone = getattr(snap_ml, name)(**options).fit(X, labels, weights)
        assert together.to_json() == alone.to_json(), name

columns = 6 if me.rank == 0 else 5
even = slice(900 * me.rank // me.size, 900 * (me.rank + 1) // me.size)
for model, labels in ((snap_ml_mpi.LogisticRegression(), y), (snap_ml_mpi.LogisticRegression(), y3),
                      (snap_ml_mpi.LinearRegression(), X[:, 0]), (snap_ml_mpi.SupportVectorMachine(), y)):
    try:
        model.fit(X[even, :columns], labels[even])
    except ValueError as error:
        assert "between 5 and 6 columns" in str(error), error
    else:
        raise AssertionError(f"{model} accepted different numbers of columns")
print(f"rank {me.rank} of {me.size}: uneven ranks")
