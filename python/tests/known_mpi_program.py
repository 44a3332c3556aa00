"""Snap ML's MPI example: trains on distributed files and prints the loss over all test rows. Run by test_linear_mpi.py."""

import os
import sys

from snap_ml_mpi import LogisticRegression, SupportVectorMachine
from snap_ml_mpi.Loaders import load_from_data_file, load_from_libsvm_format, load_from_snap_format
from snap_ml_mpi.Metrics import accuracy_score, log_loss
from snap_ml_mpi.ranks import gather


def say(text):
    """Prints a line with one write, so lines of several ranks do not mix."""
    os.write(1, f"{text}\n".encode())


train_data = load_from_libsvm_format(sys.argv[1])
test_data = load_from_snap_format(sys.argv[2])
lr = LogisticRegression(max_iter=200, dual=True, device_ids=[0, 1, 2, 3], num_threads=1, tol=1e-10)
lr.fit(train_data)
proba = lr.predict_proba(test_data)
loss, accuracy = log_loss(test_data, proba), accuracy_score(test_data, lr.predict(test_data))
say(f"rows {test_data.y.shape[0]} of {test_data.total_rows} loss {loss:.9f} accuracy {accuracy:.6f} weight {lr.coef_[0][0]:.7f}")

# Additions to the example: balanced classes, several classes, and chunks of a native data file.
if len(sys.argv) > 3:
    chunks = load_from_data_file(sys.argv[3])
    balanced = LogisticRegression(class_weight="balanced", tol=1e-10, num_threads=1).fit(chunks)
    say(f"chunks {chunks.y.shape[0]} of {chunks.total_rows} loss {log_loss(chunks, balanced.predict_proba(chunks)):.9f}")
    streamed = load_from_data_file(sys.argv[3], streamed=True)
    limited = LogisticRegression(class_weight="balanced", tol=1e-10, num_threads=1, memory_limit="5.5MB").fit(streamed)
    say(f"streamed {streamed.y.shape[0]} of {streamed.total_rows} loss {log_loss(chunks, limited.predict_proba(streamed)):.9f}")
    # Without a seed, random features are those of rank 0; support vectors are counted over all ranks.
    bent = SupportVectorMachine(kernel="rbf", num_threads=1).fit(chunks)
    assert len(set(gather([bent.features_.random_weights_.sum()]))) == 1
    assert gather([len(bent.support_)]).sum() == bent.n_support_ > 0
