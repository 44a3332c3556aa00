"""Fits a forest and a boosting model on a mapped file of 4 times the memory limit; exits with 1 if they exceed it."""

import re
import sys
from pathlib import Path

import numpy as np

from tutti.learn.tree import GradientBoostingClassifier, RandomForestClassifier

ROWS, COLUMNS, ROOM = 600_000, 28, 16 << 20


def status(name):
    return int(re.search(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024


rng = np.random.default_rng(0)
path = Path(sys.argv[1]) / "x"
labels = []
with open(path, "wb") as file:
    for _ in range(60):
        part = rng.normal(size=(ROWS // 60, COLUMNS)).astype(np.float32)
        part[::50, 2] = np.nan
        labels.append((part[:, 0] * part[:, 1] > 0).astype(np.int8))
        file.write(part.tobytes())
del part
y = np.concatenate(labels)
X = np.memmap(path, np.float32, "r", shape=(ROWS, COLUMNS))

for model in (RandomForestClassifier(2, max_depth=7, random_state=1, n_jobs=2, hist_nbins=64),
              GradientBoostingClassifier(max_iter=2, max_leaf_nodes=15, random_state=1, n_jobs=2)):
    model.fit(X[:1000], y[:1000])  # load lazily loaded libraries first
    Path("/proc/self/clear_refs").write_text("5")
    # The fit itself allocates the class codes.
    limit = status("VmRSS") + ROOM + 32 * ROWS
    limited = model.set_params(memory_limit=limit).fit(X, y).to_json()
    peak = status("VmHWM")
    print(f"{type(model).__name__}: peak {peak}, limit {limit}")
    if peak > limit:
        sys.exit("above the limit")
    if model.set_params(memory_limit=None).fit(X, y).to_json() != limited:
        sys.exit("another model than without a limit")
