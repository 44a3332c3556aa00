"""Conversion of trees to scikit-learn's structures: `tree_`, decision paths, impurities and out-of-bag sums."""

import functools

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree import _tree as known

from tutti import _tree

BLOCK = 1 << 16  # rows per block


def levels_of(nodes):
    """Return the node indices of each level, starting with the root."""
    levels = [np.zeros(1, dtype=np.int64)]
    while True:
        inner = levels[-1][nodes["left"][levels[-1]] >= 0]
        if len(inner) == 0:
            return levels
        levels.append(np.concatenate([nodes["left"][inner], nodes["right"][inner]]).astype(np.int64))


def _impurity_of_classes(shares, criterion):
    """Return the impurity of each node from its class fractions."""
    if criterion == "gini":
        return 1 - (shares**2).sum(axis=1)
    return -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1)


def _impurity_of_numbers(nodes, levels, leaf_variance):
    """Return the variance of each node: the gain of all splits below it plus the variance within its leaves."""
    squares = np.zeros(len(nodes["left"])) if leaf_variance is None else leaf_variance * nodes["cover"]
    for level in reversed(levels):
        inner = level[nodes["left"][level] >= 0]
        squares[inner] = nodes["gain"][inner] + squares[nodes["left"][inner]] + squares[nodes["right"][inner]]
    return squares / np.maximum(nodes["cover"], np.finfo(float).tiny)


def leaf_variances(model, X, y, weights, draws, threads):
    """Return for each tree the variance of the targets within each leaf. `draws`: seed and samples of the bootstrap,
    or None.
    """
    values = [model.nodes(i)["values"][:, 0] for i in range(model.trees)]
    squares, total = ([np.zeros(len(value)) for value in values] for _ in range(2))
    for begin in range(0, X.shape[0], BLOCK):
        rows = slice(begin, begin + BLOCK)
        leaves = model.leaves(X[rows], threads)
        w = weights[rows] if len(weights) else np.ones(len(leaves))
        for i, value in enumerate(values):
            leaf, own = leaves[:, i], w
            if draws is not None:
                own = w * _tree.bootstrap_copies(draws, i, begin, begin + len(w))
            squares[i] += np.bincount(leaf, own * (y[rows] - value[leaf]) ** 2, len(value))
            total[i] += np.bincount(leaf, own, len(value))
    return [s / np.maximum(t, np.finfo(float).tiny) for s, t in zip(squares, total)]


def out_of_bag(model, X, draws, threads):
    """Return the sum of out-of-bag predictions, shape (rows, outputs), and the number of out-of-bag trees of each row.
    """
    values = [model.nodes(i)["values"] for i in range(model.trees)]
    sums, counts = np.zeros((X.shape[0], model.outputs)), np.zeros(X.shape[0], dtype=np.int64)
    for begin in range(0, X.shape[0], BLOCK):
        rows = slice(begin, begin + BLOCK)
        leaves = model.leaves(X[rows], threads)
        for i, value in enumerate(values):
            is_new = _tree.bootstrap_copies(draws, i, begin, begin + len(leaves)) == 0
            sums[rows][is_new] += value[leaves[is_new, i]]
            counts[rows] += is_new
    return sums, counts


@functools.cache
def _stores_shares():
    """Return whether this version of scikit-learn stores class fractions in `tree_.value`, and not weighted counts."""
    stump = DecisionTreeClassifier().fit([[0], [0], [1]], [0, 0, 1])
    return stump.tree_.value[0].sum() == 1


def as_known_tree(model, index, classes, criterion, leaf_variance=None):
    """Convert a tree to `sklearn.tree._tree.Tree`.

    `classes`: number of classes, 0 for regression. Without `leaf_variance` leaves of regression trees have impurity 0.
    """
    nodes = model.nodes(index)
    if (nodes["categories"] >= 0).any():
        raise AttributeError("tree_ does not support categorical splits (categories); use to_json")
    levels, is_leaf = levels_of(nodes), nodes["left"] < 0
    values = nodes["values"]
    if classes:
        values = values[:, :classes] * (1 if _stores_shares() else nodes["cover"][:, None])
    table = np.zeros(len(is_leaf), dtype=known.NODE_DTYPE)
    table["left_child"], table["right_child"] = nodes["left"], nodes["right"]
    table["feature"] = np.where(is_leaf, known.TREE_UNDEFINED, nodes["column"])
    table["threshold"] = np.where(is_leaf, known.TREE_UNDEFINED, nodes["threshold"])
    table["n_node_samples"], table["weighted_n_node_samples"] = nodes["count"], nodes["cover"]
    table["impurity"] = (_impurity_of_classes(nodes["values"], criterion) if classes
                         else _impurity_of_numbers(nodes, levels, leaf_variance))
    if "missing_go_to_left" in table.dtype.names:
        table["missing_go_to_left"] = nodes["missing_left"]
    tree = known.Tree(model.columns, np.array([classes or 1], dtype=np.intp), 1)
    tree.__setstate__(dict(max_depth=len(levels) - 1, node_count=len(table), nodes=table,
                           values=np.ascontiguousarray(values[:, None, :])))
    return tree


def paths(model, index, leaves):
    """Return a sparse indicator matrix, shape (rows, nodes): 1 where the path to the leaf of a row passes the node."""
    nodes = model.nodes(index)
    inner = np.flatnonzero(nodes["left"] >= 0)
    parent = np.full(len(nodes["left"]), -1)
    parent[nodes["left"][inner]] = parent[nodes["right"][inner]] = inner
    ways = {}
    for leaf in np.unique(leaves):
        way, node = [], leaf
        while node >= 0:
            way.append(node)
            node = parent[node]
        ways[leaf] = way[::-1]
    columns = [ways[leaf] for leaf in leaves]
    offsets = np.concatenate([[0], np.cumsum([len(way) for way in columns])])
    indices = np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
    return sp.csr_matrix((np.ones(len(indices), dtype=np.int64), indices, offsets), shape=(len(leaves), len(parent)))
