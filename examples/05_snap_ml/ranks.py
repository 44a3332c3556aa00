"""Distributed linear models: every rank loads its part of the rows of a file; all ranks get the same model."""

import os
import sys
import tempfile

from sklearn.datasets import dump_svmlight_file, make_classification

from snap_ml_mpi import LogisticRegression
from snap_ml_mpi.Loaders import load_from_libsvm_format
from snap_ml_mpi.Metrics import accuracy_score, log_loss

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir()
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", os.environ.get("RANK", "0"))))
path = os.path.join(folder, f"rows-{rank}.libsvm")  # the same rows on every rank, as on a shared file system
X, y = make_classification(n_samples=4000, n_features=20, n_informative=10, random_state=1)
dump_svmlight_file(X, y, path)

data = load_from_libsvm_format(path)
model = LogisticRegression(max_iter=200, num_threads=1).fit(data)
loss = log_loss(data, model.predict_proba(data))
accuracy = accuracy_score(data, model.predict(data))
print(f"rank {rank}: {data.y.shape[0]} of {data.total_rows} rows, log loss of all {loss:.6f}, accuracy {accuracy:.4f}", flush=True)
os.unlink(path)
