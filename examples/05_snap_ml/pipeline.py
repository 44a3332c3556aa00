"""A scikit-learn pipeline with LogisticRegression of scikit-learn and of snap_ml. Prints time and loss of each."""

import time

import numpy
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from snap_ml import LogisticRegression

X, y = make_classification(n_samples=100_000, n_features=60, n_informative=30, class_sep=0.6, random_state=1)
X_train, X_test, y_train, y_test = train_test_split(X.astype(numpy.float32), y, random_state=1)


def measure(name, model):
    pipeline = make_pipeline(StandardScaler(), model)
    start = time.perf_counter()
    pipeline.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    loss = log_loss(y_test, pipeline.predict_proba(X_test))
    print(f"{name:<12} {seconds:6.2f} s   log loss {loss:.6f}")
    return loss


theirs = measure("scikit-learn", TheirLogisticRegression(C=1.0, tol=1e-6, max_iter=500))
ours = measure("snap_ml", LogisticRegression(regularizer=1.0, fit_intercept=True, tol=1e-6))
print("the same model" if abs(ours - theirs) < 1e-5 else "the models differ")
