"""Both in one process: to import torch takes longer than to check."""

import horovod_ops  # noqa: F401
import horovod_training  # noqa: F401
