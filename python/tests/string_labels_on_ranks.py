"""Run by mpirun: string classes of which no rank has all, and invalid labels."""

import numpy as np
from sklearn import datasets
from sklearn.metrics import hinge_loss as hinge_of_one
from sklearn.metrics import log_loss as loss_of_one

import snap_ml
import snap_ml_mpi
from snap_ml_mpi.Metrics import accuracy_score, hinge_loss, log_loss
from snap_ml_mpi.ranks import ranks

X, codes = datasets.make_classification(900, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
order = np.argsort(codes + 0.01 * np.arange(900) / 900)
X, codes = X[order], codes[order]
me = ranks()
share = slice(900 * me.rank // me.size, 900 * (me.rank + 1) // me.size)

for words in (np.array(["red", "a green one", "blue"]), np.array(["x", "yy", "ä"], dtype=object), np.array([1e6, 7, -7e5]), np.array([2**40, 3, 5])):
    y = words[codes]
    own_X, own_y = X[share], y[share]
    if words.dtype.kind == "U":
        own_y = own_y.astype(f"U{max(map(len, own_y))}")  # dtype as wide as the longest label of this rank
    for name, options in (("LogisticRegression", dict(tol=1e-10, fit_intercept=True)), ("BoostingMachineClassifier", dict(num_round=3)),
                          ("RandomForestClassifier", dict(n_estimators=3, random_state=0))):
        for weight in (None, "balanced", {words[1]: 2.5}):
            together, alone = (getattr(place, name)(**options, n_jobs=1, class_weight=weight) for place in (snap_ml_mpi, snap_ml))
            together.fit(own_X, own_y)
            alone.fit(X, y)
            assert list(together.classes_) == list(alone.classes_) == sorted(words), (together.classes_, alone.classes_)
            np.testing.assert_allclose(together.predict_proba(X), alone.predict_proba(X), atol=1e-4 if name == "LogisticRegression" else 0)
            assert abs(log_loss(own_y, together.predict_proba(own_X)) - loss_of_one(y, alone.predict_proba(X))) < 1e-4
            assert abs(accuracy_score(own_y, together.predict(own_X)) - np.mean(alone.predict(X) == y)) < 1e-2

two = np.where(codes == 1, "yes", "no")
machine = snap_ml_mpi.SupportVectorMachine(n_jobs=1).fit(X[share], two[share])
decision = machine.decision_function(X)
assert abs(hinge_loss(two[share], decision[share]) - hinge_of_one(two, decision)) < 1e-9

# Invalid labels are reported on every rank.
if me.size > 1:
    mixed = codes.astype(object)
    mixed[0] = "a word"
    fractions = codes + (np.arange(900) == 5) / 3
    for wrong in (mixed[share], fractions[share], two[share] if me.rank == 0 else codes[share]):
        try:
            snap_ml_mpi.LogisticRegression(n_jobs=1).fit(X[share], wrong)
            raise SystemExit("wrong labels were taken")
        except ValueError as error:
            assert "labels" in str(error), error
print(f"rank {me.rank} of {me.size}: the same classes")
