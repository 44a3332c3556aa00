"""Plugin of pytest that patches scikit-learn before its test modules are imported.

The tests of logistic regression import the class from its private module, so it is replaced there as well.
"""

import sklearn.linear_model
import sklearn.linear_model._logistic

import snap_ml

snap_ml.patch_sklearn()
sklearn.linear_model._logistic.LogisticRegression = sklearn.linear_model.LogisticRegression
