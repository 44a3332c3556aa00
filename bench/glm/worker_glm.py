"""Worker of `tutti bench glm`: fits one problem with Tutti and the solvers of scikit-learn, on the same arrays.

  worker_glm.py DIRECTORY CASE PENALTY INTERCEPT TARGET SECONDS BASELINES MEMORY_FRACTION

Each system is run with increasing effort until its objective is within TARGET of Tutti's at a very small tolerance, or a fit took
more than SECONDS (0: no baselines). BASELINES are names of EFFORTS below; empty: all. Those that CASE does not support are skipped.
MEMORY_FRACTION above 0: Tutti is also run from a file, with that fraction of its size as memory limit, at the tolerance with which it
was fastest within TARGET in memory, alternated with fits in memory. Writes one line of JSON per fit to DIRECTORY/fits. Short fits are
the median of three. Times include the conversion of the data.

Another Python, without Tutti, adds the fits of its release of scikit-learn, and of scikit-learn-intelex if it has it.
"""

import ctypes
import json
import os
import statistics
import sys
import time
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression

try:
    from tutti.learn import data, linear
except ImportError:
    linear = None

# Per case: the solvers of scikit-learn that support it, with increasing effort (max_iter, tol).
EFFORTS = {
    "saga": [(5, 0), (20, 0), (60, 0), (200, 0)],
    "lbfgs": [(30, 1e-9), (100, 1e-9), (300, 1e-9), (1000, 1e-9)],
    "liblinear": [(1000, 1e-1), (1000, 1e-2), (1000, 1e-3), (1000, 1e-4)],
    "liblinear-dual": [(10, 1e-9), (20, 1e-9), (30, 1e-9), (60, 1e-9), (200, 1e-9), (1000, 1e-9)],
    "newton-cholesky": [(3, 1e-9), (5, 1e-9), (8, 1e-9)],
    "newton-cg": [(5, 1e-9), (10, 1e-9), (20, 1e-9)],
    # The liblinear library, in f64; its limit of 1000 iterations is fixed.
    "liblinear-own": [(1000, 1e-1), (1000, 1e-2), (1000, 1e-3), (1000, 1e-4)],
    "liblinear-own-dual": [(1000, 1), (1000, 1e-1), (1000, 1e-2), (1000, 1e-3)],
}
PEERS = {
    "clicks": ["saga", "lbfgs", "liblinear", "liblinear-dual", "newton-cg", "liblinear-own", "liblinear-own-dual"],
    "collisions": ["lbfgs", "newton-cholesky"],
    "factors": ["lbfgs", "newton-cholesky"],
    "pages": ["liblinear", "saga", "liblinear-own"],
}

ROUNDS = 5  # from a file and in memory, alternated


def load(folder):
    rows, columns, entries = map(int, (folder / "shape").read_text().split())
    y = np.fromfile(folder / "labels")
    values = np.fromfile(folder / "values", np.float32) if (folder / "values").exists() else None
    if not (folder / "offsets").exists():
        return values.reshape(rows, columns), y
    values = np.ones(entries, np.float32) if values is None else values
    indices, offsets = np.fromfile(folder / "indices", np.int32), np.fromfile(folder / "offsets", np.int64).astype(np.int32)
    return sp.csr_matrix((values, indices, offsets), shape=(rows, columns)), y


class Liblinear:
    """The trainer of the liblinear library (version 2.30 of Debian), called without an intermediate file. No intercept."""

    class Problem(ctypes.Structure):
        _fields_ = [("rows", ctypes.c_int), ("columns", ctypes.c_int), ("labels", ctypes.c_void_p), ("rows_at", ctypes.c_void_p),
                    ("bias", ctypes.c_double)]

    class Parameter(ctypes.Structure):
        _fields_ = [("solver", ctypes.c_int), ("eps", ctypes.c_double), ("C", ctypes.c_double), ("weights", ctypes.c_int),
                    ("weight_labels", ctypes.c_void_p), ("weight_values", ctypes.c_void_p), ("p", ctypes.c_double),
                    ("start", ctypes.c_void_p)]

    class Model(ctypes.Structure):
        pass

    Model._fields_ = [("parameter", Parameter), ("classes", ctypes.c_int), ("columns", ctypes.c_int),
                      ("w", ctypes.POINTER(ctypes.c_double)), ("labels", ctypes.POINTER(ctypes.c_int)), ("bias", ctypes.c_double)]

    def __init__(self, penalty, is_dual, eps):
        self.solver, self.eps = 6 if penalty == "l1" else 7 if is_dual else 0, eps
        self.library = ctypes.CDLL("liblinear.so.4")
        if ctypes.c_int.in_dll(self.library, "liblinear_version").value != 230:
            raise OSError("another version of liblinear")
        self.library.train.restype = ctypes.POINTER(self.Model)
        self.silence = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda text: None)
        self.library.set_print_string_function(self.silence)

    def fit(self, X, y):
        rows, positions = X.shape[0], np.arange(X.nnz) + np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        nodes = np.zeros(X.nnz + rows, np.dtype([("index", np.int32), ("value", np.float64)], align=True))
        nodes["index"] = -1  # ends a row
        nodes["index"][positions], nodes["value"][positions] = X.indices + 1, X.data
        starts = nodes.ctypes.data + 16 * (X.indptr[:-1].astype(np.uint64) + np.arange(rows, dtype=np.uint64))
        problem = self.Problem(rows, X.shape[1], y.ctypes.data, starts.ctypes.data, -1)
        parameter = self.Parameter(self.solver, self.eps, 1, 0, None, None, 0.1, None)
        model = self.library.train(ctypes.byref(problem), ctypes.byref(parameter))
        sign = 1 if model.contents.labels[0] > 0 else -1
        self.coef_ = sign * np.ctypeslib.as_array(model.contents.w, (1, X.shape[1])).copy()
        self.library.free_and_destroy_model(ctypes.byref(model))


class Fitted:
    """Repeated fits of a model from a file, with their times and peak memory."""

    def __init__(self, model, file):
        self.model, self.file, self.seconds, self.grown = model, file, [], 0

    def fit(self):
        with open(self.file.path, "rb") as rows:  # drops the file from the page cache
            os.posix_fadvise(rows.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
            peak.write("5\n")  # resets the peak
        before, start = memory("VmRSS"), time.perf_counter()
        self.model.fit(self.file)
        self.seconds.append(time.perf_counter() - start)
        self.grown = max(self.grown, memory("VmHWM") - before)


def spread(times):
    return f"{min(times):.2f} to {max(times):.2f}"


def memory(key):
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


class Contest:
    def __init__(self, folder, case, penalty, has_intercept, target, seconds):
        self.X, self.y = load(folder)
        self.out = open(folder / "fits", "a" if linear is None else "w", encoding="utf-8")
        self.case, self.penalty, self.has_intercept = case, penalty, has_intercept
        self.target, self.seconds = target, seconds
        self.best = None
        if linear is None:
            lines = (folder / "fits").read_text(encoding="utf-8").splitlines()
            self.best = min(json.loads(line)["objective"] for line in lines)
        self.ours = []  # (seconds, objective, tol)

    def objective(self, model):
        w = model.coef_[0].astype(np.float64)
        margins = self.X @ w.astype(self.X.dtype) + (model.intercept_[0] if self.has_intercept else 0)
        penalty = np.abs(w).sum() if self.penalty == "l1" else 0.5 * (w @ w)
        return float(np.logaddexp(0, -self.y * margins.astype(np.float64)).sum() + penalty)

    def fit(self, system, settings, model):
        """Return whether the target was reached, and whether to continue."""
        times = []
        while len(times) < (3 if not times or times[0] < 5 else 1):
            start = time.perf_counter()
            model.fit(self.X, self.y)
            times.append(time.perf_counter() - start)
        objective = self.note(system, settings, model, statistics.median(times))
        return (objective - self.best) / self.best <= self.target, statistics.median(times) <= self.seconds

    def note(self, system, settings, model, seconds, **more):
        objective = self.objective(model)
        passes, computing = (model.history_[key][-1] for key in ("passes", "t_elap_sec")) if hasattr(model, "history_") else (0, 0)
        self.last = seconds, objective
        self.best = objective if self.best is None else min(self.best, objective)
        self.out.write(json.dumps({"system": system, "settings": settings, "seconds": seconds, "objective": objective, "passes": passes,
                                   "computing": computing, **more}) + "\n")
        self.out.flush()
        return objective

    def run_ours(self):
        for tol in (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1):
            model = linear.LogisticRegression(self.penalty, fit_intercept=self.has_intercept, tol=tol, max_iter=100000)
            self.fit("tutti", f"tol {tol:g}", model)
            self.ours.append((*self.last, tol))

    def quickest(self):
        """Return the tolerance of the fastest fit within the target."""
        return min(fit for fit in self.ours if (fit[1] - self.best) / self.best <= self.target)[2]

    def run_limited(self, folder, memory_fraction):
        """Fit from a file, bypassing the page cache, alternated with fits in memory; also measure the read bandwidth."""
        path = folder / "rows.data"
        if not path.exists():
            data.save_data_file(path, self.X, self.y)
        with open(path, "rb") as rows:
            os.fsync(rows.fileno())
        file, limit, tol = data.DataFile(path), int(path.stat().st_size * memory_fraction), self.quickest()
        settings = {"fit_intercept": self.has_intercept, "tol": tol, "max_iter": 100000}
        model = linear.LogisticRegression(self.penalty, memory_limit=limit, **settings)
        from_file, in_memory, disk = Fitted(model, file), [], []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            linear.LogisticRegression(self.penalty, **settings).fit(self.X, self.y)
            in_memory.append(time.perf_counter() - start)
            from_file.fit()
            disk.append(file.handle.read_speed(limit) / 1e9)
        seconds, in_memory_median, disk = statistics.median(from_file.seconds), statistics.median(in_memory), statistics.median(disk)
        used = model.stream_["bytes_read"] / seconds / 1e9
        text = (f"tol {tol:g}, limit {limit / 1e6:.0f} MB, grown {from_file.grown / 1e6:.0f} MB, "
                f"{spread(from_file.seconds)} s, first {from_file.seconds[0]:.2f} s, in memory {in_memory_median:.2f} s ({spread(in_memory)}), "
                f"{used:.2f} of {disk:.2f} GB/s ({100 * used / disk:.0f} % over the whole fit)")
        self.note("tutti from a file", text, model, seconds, in_memory=in_memory_median)

    def run_liblinear(self, name):
        for _, eps in EFFORTS[name]:
            try:
                model = Liblinear(self.penalty, name.endswith("dual"), eps)
            except OSError as error:
                print(f"{name} is skipped: {error}", flush=True)
                return
            is_there, goes_on = self.fit(name, f"eps {eps:g}", model)
            if is_there or not goes_on:
                return

    def run_baseline(self, name):
        if name.startswith("liblinear-own"):
            self.run_liblinear(name)
            return
        system = "sklearn " + name if linear is not None else f"sklearn {sklearn.__version__} {name}"
        self.run_efforts(system, name, LogisticRegression)
        if linear is None and name == "lbfgs" and not sp.issparse(self.X):
            import sklearnex.linear_model

            release = metadata.version("scikit-learn-intelex")
            self.run_efforts(f"sklearnex {release} {name}", name, sklearnex.linear_model.LogisticRegression)

    def run_efforts(self, system, name, estimator):
        is_dual = name == "liblinear-dual"
        for max_iter, tol in EFFORTS[name]:
            model = estimator(penalty=self.penalty, solver="liblinear" if is_dual else name, dual=is_dual, max_iter=max_iter, tol=tol,
                              fit_intercept=self.has_intercept, n_jobs=None, random_state=0)
            is_there, goes_on = self.fit(system, f"max_iter {max_iter}, tol {tol:g}", model)
            if is_there or not goes_on:
                return


def main():
    folder, case, penalty, has_intercept, target, seconds, baselines, memory_fraction = sys.argv[1:]
    warnings.simplefilter("ignore")
    selected = baselines.split(",") if baselines else EFFORTS
    if unknown := set(selected) - set(EFFORTS):
        sys.exit(f"No solver is called {', '.join(unknown)}. There are {', '.join(EFFORTS)}.")
    contest = Contest(Path(folder), case, penalty, has_intercept == "1", float(target), float(seconds))
    if linear is not None:
        contest.run_ours()
    if linear is not None and float(memory_fraction) > 0:
        contest.run_limited(Path(folder), float(memory_fraction))
    for name in PEERS[case] if float(seconds) > 0 else []:
        if name in selected and not (linear is None and name.startswith("liblinear-own")):
            contest.run_baseline(name)


if __name__ == "__main__":
    main()
