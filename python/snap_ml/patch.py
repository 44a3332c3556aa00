"""Switches an existing program: scikit-learn's names lead to the estimators of tutti.learn."""

import inspect
import warnings

import sklearn.ensemble
import sklearn.linear_model
import sklearn.svm
import sklearn.tree

from tutti.learn import linear, tree

# The module, its names, where ours are, and under which name where it is another.
_NAMES = [
    (sklearn.linear_model, linear, ["ElasticNet", "GammaRegressor", "Lasso", "LinearRegression", "LogisticRegression",
                                    "PoissonRegressor", "Ridge"]),
    (sklearn.svm, linear, ["LinearSVC"]),
    (sklearn.tree, tree, ["DecisionTreeClassifier", "DecisionTreeRegressor"]),
    (sklearn.ensemble, tree, ["ExtraTreesClassifier", "ExtraTreesRegressor", "HistGradientBoostingClassifier",
                              "HistGradientBoostingRegressor", "RandomForestClassifier", "RandomForestRegressor"]),
]
_originals = {}


def _parameters(of):
    return {name: one.default for name, one in inspect.signature(of.__init__).parameters.items() if name != "self"}


def _is_default(value, default):
    return value is default or (type(value) is type(default) and value == default)


def _switched(original, ours):
    """A class that makes our estimators, and scikit-learn's own where an option is asked for that ours have not."""
    known, theirs = _parameters(ours), _parameters(original)

    class Switch(type(ours)):
        def __call__(cls, *args, **options):
            if cls is not switched:  # somebody's subclass
                return super().__call__(*args, **options)
            rest = {name: value for name, value in options.items() if name not in known}
            asked = [name for name, value in rest.items() if not _is_default(value, theirs.get(name, rest))]
            if asked:
                warnings.warn(f"{original.__name__}: scikit-learn's own is used, for {', '.join(asked)}", stacklevel=2)
                return original(*args, **options)
            return ours(*args, **{name: value for name, value in options.items() if name in known})

        def __instancecheck__(cls, one):
            return isinstance(one, (ours, original)) if cls is switched else super().__instancecheck__(one)

    switched = Switch(original.__name__, (ours,), {"__doc__": ours.__doc__, "__module__": original.__module__})
    return switched


def patch_sklearn():
    """From now on `from sklearn.linear_model import LogisticRegression` gives ours, and so do trees, forests and histogram boosting;
    imports made before keep what they have."""
    for module, place, names in _NAMES:
        for name in names:
            if (module, name) in _originals:
                continue
            original = _originals[module, name] = getattr(module, name)
            setattr(module, name, _switched(original, getattr(place, name.removeprefix("Hist"))))


def unpatch_sklearn():
    """Takes it back."""
    for (module, name), original in _originals.items():
        setattr(module, name, original)
    _originals.clear()
