"""Every memory layout of the same numbers gives the same result: fits, predictions and data files."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import snap_ml
from tutti.learn import data, linear, tree

ROWS, COLUMNS = 60, 5
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(ROWS, COLUMNS)) * (RANDOM.random((ROWS, COLUMNS)) > 0.3)
Y = (X[:, 0] + 0.3 * RANDOM.normal(size=ROWS) > 0).astype(float)
WEIGHTS = RANDOM.random(ROWS) + 0.5
ESTIMATORS = [
    linear.LogisticRegression(), linear.LogisticRegression(penalty="l1", solver="working_set"), linear.LogisticRegression(solver="newton_cg"),
    linear.LogisticRegression(penalty="l1", solver="newton_cg"), linear.LinearSVC(), linear.LinearSVC(loss="hinge"), linear.Ridge(),
    linear.LinearRegression(), linear.Lasso(alpha=0.01), linear.PoissonRegressor(), snap_ml.LogisticRegression(),
    snap_ml.SupportVectorMachine(kernel="rbf", random_state=0), tree.DecisionTreeClassifier(random_state=0),
    tree.DecisionTreeRegressor(use_histograms=False, random_state=0), tree.RandomForestClassifier(3, random_state=0),
    tree.ExtraTreesRegressor(3, random_state=0), tree.BoostingMachineClassifier(num_round=3, random_state=0), tree.BoostingMachineRegressor(num_round=3, random_state=0)]


def unaligned(values):
    """A copy that starts one byte after an aligned address, contiguous."""
    bytes_ = np.zeros(values.nbytes + 1, np.uint8)
    copy = np.frombuffer(bytes_.data, values.dtype, values.size, offset=1).reshape(values.shape)
    copy[...] = values
    return copy


def in_record(values):
    """A field of a packed record array: strides that are not multiples of the item size."""
    records = np.zeros(len(values), np.dtype([("tag", "u1"), ("values", values.dtype, values.shape[1:])]))
    records["values"] = values
    return records["values"]


def read_only(values):
    copy = values.copy()
    copy.flags.writeable = False
    return copy


def spread(values, step):
    """A copy within a larger array: every `step`th element of each axis, reversed if negative."""
    reach = abs(step)
    large = np.full([size * reach for size in values.shape], 777, values.dtype)
    view = large[tuple(slice(None, None, reach) for _ in values.shape)]
    if step < 0:
        view = view[tuple(slice(None, None, -1) for _ in values.shape)]
    view[...] = values
    return view


LAYOUTS = {
    "fortran": np.asfortranarray, "unaligned": unaligned, "record": in_record, "read_only": read_only, "stride2": lambda v: spread(v, 2),
    "stride3": lambda v: spread(v, 3), "reversed": lambda v: spread(v, -1), "reversed2": lambda v: spread(v, -2),
    "big_endian": lambda v: v.astype(v.dtype.newbyteorder(">")), "unaligned_fortran": lambda v: unaligned(v.T.copy()).T,
    "memmap_like": lambda v: v.view(type("Sub", (np.ndarray,), {})),
}


def sparse_with(kind, change):
    matrix = kind(X)
    matrix.data = change(matrix.data)
    return matrix


def sparse_layouts(kind):
    for name in ("unaligned", "read_only", "stride2", "stride3", "reversed", "reversed2"):
        yield name, sparse_with(kind, LAYOUTS[name])
    indices = kind(X)
    indices.indices, indices.indptr = spread(indices.indices, 2), spread(indices.indptr, -3)
    yield "indices", indices
    long = kind(X)
    long.indices, long.indptr = unaligned(long.indices.astype(np.int64)), long.indptr.astype(np.int64)
    yield "int64", long
    twice = kind(X)
    twice = kind((np.repeat(twice.data / 2, 2), np.repeat(twice.indices, 2), twice.indptr * 2), shape=X.shape)
    yield "duplicates", twice
    unsorted = kind(X)
    for line in range(len(unsorted.indptr) - 1):
        part = slice(unsorted.indptr[line], unsorted.indptr[line + 1])
        unsorted.indices[part], unsorted.data[part] = unsorted.indices[part][::-1].copy(), unsorted.data[part][::-1].copy()
    unsorted.has_sorted_indices = False
    yield "unsorted", unsorted


def results(estimator, X, y, weights, test):
    """Predictions after a fit on `X`, and predictions of a fixed model for `test`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y, sample_weight=weights).predict(test)


def name_of(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_dense_layouts(estimator, dtype):
    values = X.astype(dtype)
    expected = results(estimator, values, Y, WEIGHTS, values)
    for name, layout in LAYOUTS.items():
        same = layout(values)
        np.testing.assert_array_equal(same, values)
        found = results(estimator, same, layout(Y), layout(WEIGHTS), values)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=f"fit on {name}")
        found = results(estimator, values, Y, WEIGHTS, same)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7, err_msg=f"prediction for {name}")


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_sparse_layouts(estimator, kind):
    expected = results(estimator, kind(X), Y, WEIGHTS, kind(X))
    for name, same in sparse_layouts(kind):
        found = results(estimator, same, Y, WEIGHTS, kind(X))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=f"fit on {name}")
        found = results(estimator, kind(X), Y, WEIGHTS, same)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7, err_msg=f"prediction for {name}")


def test_random_views():
    # Views of a random buffer with any offset and strides, also 0 and beyond a row.
    random = np.random.default_rng(1)
    model = linear.Ridge().fit(X, Y)
    forest = tree.RandomForestRegressor(3, random_state=0).fit(X, Y)
    for _ in range(200):
        dtype = np.dtype(random.choice(["<f4", "<f8", ">f4", ">f8"]))
        rows = int(random.integers(1, 9))
        strides = random.integers(-40, 41, 2)
        lowest = int(np.minimum(strides * [rows - 1, COLUMNS - 1], 0).sum())
        reach = int((abs(strides) * [rows - 1, COLUMNS - 1]).sum()) + dtype.itemsize
        buffer = np.zeros(reach + 8, np.uint8)
        view = np.ndarray((rows, COLUMNS), dtype, buffer, offset=-lowest + int(random.integers(0, 8)), strides=tuple(int(s) for s in strides))
        for row in range(rows):
            for column in range(COLUMNS):
                view[row, column] = random.integers(-3, 4)
        plain = np.ascontiguousarray(view, dtype=dtype.newbyteorder("="))
        if not np.isfinite(plain).all() or abs(plain).max() > 1e30:
            continue  # overlapping elements can form any bit pattern
        for one in (model, forest):
            np.testing.assert_allclose(one.predict(view), one.predict(plain), rtol=1e-5, atol=1e-6, err_msg=f"{dtype} {strides}")


def test_files_of_layouts(tmp_path):
    for dtype in (np.float32, np.float64):
        values = X.astype(dtype)
        for name, layout in LAYOUTS.items():
            data.save_data_file(tmp_path / name, layout(values), layout(Y), layout(WEIGHTS))
            read, y, weights = data.load_data_file(tmp_path / name, dtype=dtype)
            np.testing.assert_array_equal(read, values, err_msg=name)
            np.testing.assert_array_equal(y, Y)
            np.testing.assert_array_equal(weights, WEIGHTS)
            data.write_snap_file(tmp_path / "snap", layout(values), layout(Y))
            np.testing.assert_array_equal(data.load_snap_file(tmp_path / "snap")[0], X.astype(np.float32), err_msg=name)
    for name, same in sparse_layouts(sp.csr_matrix):
        data.save_data_file(tmp_path / name, same, Y)
        np.testing.assert_array_equal(data.load_data_file(tmp_path / name)[0].toarray(), X, err_msg=name)


def test_files_without_rows_or_columns(tmp_path):
    for shape in ((0, 3), (4, 0)):
        for values in (np.zeros(shape), np.zeros(shape, order="F"), spread(np.zeros(shape), 2)):
            data.save_data_file(tmp_path / "empty", values)
            assert data.load_data_file(tmp_path / "empty")[0].shape == shape


# Random Fourier features multiply the matrix in SciPy, which does not check it.
@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if getattr(one, "kernel", "linear") == "linear"], ids=name_of)
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
def test_invalid_sparse_matrices_are_refused(estimator, kind):
    def with_index(index, dtype=np.int32):
        matrix = kind(X)
        matrix.indices = matrix.indices.astype(dtype)
        matrix.indices[3] = index
        return matrix

    def with_indptr(change):
        matrix = kind(X)
        matrix.indptr = change(matrix.indptr.copy())
        return matrix

    def decreasing(indptr):
        indptr[2] = indptr[3] + 1
        return indptr

    def too_long(indptr):
        indptr[-1] += 1000
        return indptr

    estimator.fit(kind(X), Y)
    for name, bad in [("above", with_index(1000)), ("negative", with_index(-1)), ("above 2^32", with_index(2**32 + 1, np.int64)),
                      ("below -2^32", with_index(1 - 2**32, np.int64)), ("decreasing", with_indptr(decreasing)),
                      ("too long", with_indptr(too_long)), ("too short", with_indptr(lambda indptr: indptr[:-3]))]:
        bad.has_canonical_format = True  # keeps SciPy from reading it
        for call in (lambda: estimator.fit(bad, Y), lambda: estimator.predict(bad)):
            with pytest.raises((ValueError, IndexError)):
                call()
                pytest.fail(name)
