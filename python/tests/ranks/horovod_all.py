"""All in one process: to import torch takes longer than to check."""

import horovod_ops  # noqa: F401
import horovod_movement  # noqa: F401
import horovod_process_sets  # noqa: F401
import horovod_training  # noqa: F401
import horovod_optimizers  # noqa: F401
import horovod_elastic  # noqa: F401
