"""Model files exchanged between Python and `tutti learn`, and defaults compared with the option table."""

import inspect
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_iris

import snap_ml
from tutti import _model
from tutti.learn import linear, tree
from tutti.learn.model import load_model, save_model

CLASSIFIERS = [linear.LogisticRegression(), linear.LogisticRegression(multi_class="ovr"), linear.LinearSVC(), linear.LinearSVC("hinge"),
               tree.DecisionTreeClassifier(random_state=1), tree.RandomForestClassifier(5, random_state=1),
               tree.ExtraTreesClassifier(5, random_state=1), tree.GradientBoostingClassifier(max_iter=5),
               tree.BoostingMachineClassifier(num_round=5), snap_ml.LogisticRegression(fit_intercept=True)]
REGRESSORS = [linear.LinearRegression(), linear.Ridge(), linear.Lasso(0.01), linear.PoissonRegressor(), linear.GammaRegressor(),
              tree.DecisionTreeRegressor(random_state=1), tree.RandomForestRegressor(5, random_state=1),
              tree.GradientBoostingRegressor(max_iter=5)]


def iris(classes):
    X, y = load_iris(return_X_y=True)
    keep = y < classes if classes else np.full(len(y), True)
    return X[keep].astype(np.float32), y[keep].astype(np.float64) + (0 if classes else X[:, 0])


def run(*arguments):
    done = subprocess.run(["tutti-learn", "learn", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_rows(path, X, y=None):
    rows = np.asarray(X, dtype=np.float64) if y is None else np.column_stack([np.asarray(y, dtype=object), X.astype(np.float64)])
    header = ",".join(([] if y is None else ["label"]) + [f"c{i}" for i in range(X.shape[1])])
    path.write_text("\n".join([header] + [",".join(map(str, row)) for row in rows]) + "\n")


def predicted(folder, X, *arguments):
    write_rows(folder / "x.csv", X)
    return run("predict", folder / "m.json", folder / "x.csv", "--label", "none", *arguments).split()


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_classifier_of_python_predicts_on_the_command_line(model, classes, tmp_path):
    X, y = iris(classes)
    model.fit(X, y)
    save_model(model, tmp_path / "m.json")
    assert np.array_equal([float(label) for label in predicted(tmp_path, X)], model.predict(X))
    again = load_model(tmp_path / "m.json")
    assert np.array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        lines = [line.split(",")[1:] for line in predicted(tmp_path, X, "--probabilities")]
        assert np.allclose(np.array(lines, dtype=float), model.predict_proba(X), atol=1e-12)
        assert np.allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_regressor_of_python_predicts_on_the_command_line(model, tmp_path):
    X, y = iris(0)
    model.fit(X, y)
    save_model(model, tmp_path / "m.json")
    assert np.allclose([float(value) for value in predicted(tmp_path, X)], model.predict(X), rtol=1e-12)
    assert np.allclose(load_model(tmp_path / "m.json").predict(X), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge", "tree", "forest", "extra_trees", "boosting"])
def test_model_of_the_command_line_predicts_in_python(name, tmp_path):
    X, y = iris(3)
    write_rows(tmp_path / "train.csv", X, y)
    run("train", tmp_path / "train.csv", "--label", "label", "--model", name, "--trees", 5, "--out", tmp_path / "m.json")
    expected = [float(label) for label in predicted(tmp_path, X)]
    assert np.array_equal(load_model(tmp_path / "m.json").predict(X), expected)


@pytest.mark.parametrize("model", [linear.LogisticRegression(), tree.RandomForestClassifier(5, random_state=1)])
def test_string_classes(model, tmp_path):
    X, y = iris(3)
    names = np.array(["setosa", "versicolor", "virginica"])[y.astype(int)]
    model.fit(X, names)
    save_model(model, tmp_path / "m.json")
    assert predicted(tmp_path, X) == list(model.predict(X))
    assert np.array_equal(load_model(tmp_path / "m.json").predict(X), model.predict(X))


def test_refused_models(tmp_path):
    X, y = iris(2)
    with pytest.raises(TypeError):
        save_model(__import__("sklearn.linear_model").linear_model.LogisticRegression().fit(X, y), tmp_path / "m.json")
    with pytest.raises(ValueError):
        save_model(snap_ml.LogisticRegression(kernel="rbf").fit(X, y), tmp_path / "m.json")
    with pytest.raises(OSError):
        load_model(tmp_path / "missing.json")
    (tmp_path / "words.csv").write_text("label,color,x\n" + "\n".join(f"{i % 2},{'red' if i % 3 else 'blue'},{i}" for i in range(40)) + "\n")
    run("train", tmp_path / "words.csv", "--label", "label", "--model", "tree", "--out", tmp_path / "m.json")
    with pytest.raises(ValueError, match="strings"):
        load_model(tmp_path / "m.json")


def default_of(estimator, keyword):
    return inspect.signature(estimator.__init__).parameters[keyword].default


def test_defaults_are_those_of_the_table():
    table = _model.defaults()
    for estimator in (linear.LogisticRegression, linear.LinearSVC, linear.LinearRegression, linear.Ridge, linear.Lasso, linear.ElasticNet):
        for option, keyword in (("tolerance", "tol"), ("max_iterations", "max_iter"), ("solver", "solver"), ("fit_intercept", "fit_intercept")):
            assert default_of(estimator, keyword) == table[option]
    for estimator, keywords in ((tree.RandomForestClassifier, {"trees": "n_estimators"}),
                                (tree.GradientBoostingClassifier, {"trees": "max_iter", "learning_rate": "learning_rate", "max_leaves": "max_leaf_nodes"}),
                                (tree.BoostingMachineRegressor, {"trees": "num_round", "learning_rate": "learning_rate"})):
        for option, keyword in keywords.items():
            assert default_of(estimator, keyword) == table[option]
    for estimator in (snap_ml.LogisticRegression, snap_ml.LinearRegression, snap_ml.SupportVectorMachine):
        for text in _model.snap_ml_defaults().values():
            keyword, default = text.split("=")
            assert str(default_of(estimator, keyword)) == default
