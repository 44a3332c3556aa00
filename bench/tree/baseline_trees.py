#!/usr/bin/python3
"""A baseline of `tutti bench tree`: fits one model on the data in a directory and writes times and quality as JSON.

  baseline_trees.py FOLDER SYSTEM CASE DEPTH TREES LEAVES LEAF_ROWS THREADS REPEATS

The Python that runs it determines the releases of the libraries.
"""

import json
import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

COLUMNS = 28
PACKAGES = {"sklearn": "scikit-learn", "sklearn_hist": "scikit-learn", "sklearnex": "scikit-learn-intelex"}


def make_model(system, case, depth, trees, leaves, min_samples_leaf, threads):
    """Return the model with the best documented settings of the system for this case."""
    if system == "xgboost":
        import xgboost

        return xgboost.XGBClassifier(tree_method="hist", grow_policy="lossguide", max_leaves=leaves, max_depth=depth,
                                     n_estimators=trees, learning_rate=0.1, reg_lambda=1, max_bin=256, n_jobs=threads)
    if system == "sklearn_hist":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(max_iter=trees, max_leaf_nodes=leaves, learning_rate=0.1, l2_regularization=1,
                                              early_stopping=False)
    if system == "lightgbm":
        import lightgbm

        return lightgbm.LGBMClassifier(n_estimators=trees, num_leaves=leaves, learning_rate=0.1, reg_lambda=1, n_jobs=threads, verbose=-1)
    if system == "catboost":
        import catboost

        return catboost.CatBoostClassifier(iterations=trees, grow_policy="Lossguide", max_leaves=leaves, depth=16, learning_rate=0.1,
                                           thread_count=threads, verbose=False, allow_writing_files=False)
    if case == "forest":
        if system == "sklearnex":
            from sklearnex.ensemble import RandomForestClassifier
        else:
            from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(trees, max_depth=depth or None, min_samples_leaf=min_samples_leaf, n_jobs=threads, random_state=0)
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth or None, min_samples_leaf=min_samples_leaf, random_state=0)


def main(folder, system, case, *numbers):
    depth, trees, leaves, min_samples_leaf, threads, repeats = map(int, numbers)
    folder = Path(folder)
    x, x_test = (np.fromfile(folder / name, np.float32).reshape(-1, COLUMNS) for name in ("x", "x_test"))
    y, y_test = (np.fromfile(folder / name).astype(np.int64) for name in ("y", "y_test"))
    seconds = []
    while len(seconds) < repeats and sum(seconds) < 10:
        model = make_model(system, case, depth, trees, leaves, min_samples_leaf, threads)
        start = time.perf_counter()
        model.fit(x, y)
        seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    predictions = model.predict_proba(x_test)[:, 1].astype(np.float64)
    predict = time.perf_counter() - start
    start = time.perf_counter()
    for i in range(50):
        model.predict_proba(x_test[i : i + 1])
    one_row = (time.perf_counter() - start) / 50
    safe = np.clip(predictions, 1e-7, 1 - 1e-7)
    result = dict(version=metadata.version(PACKAGES.get(system, system)), fit_seconds=seconds, predict_seconds=predict, row_microseconds=one_row * 1e6,
                  log_loss=float(-np.mean(np.where(y_test == 1, np.log(safe), np.log(1 - safe)))),
                  auc=float(roc_auc_score(y_test, predictions)), accuracy=float(np.mean((predictions > 0.5) == (y_test == 1))))
    (folder / f"{system}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
