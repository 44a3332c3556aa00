"""All checks in one process, because importing torch takes longer than the checks."""

import horovod_ops  # noqa: F401
import horovod_movement  # noqa: F401
import horovod_process_sets  # noqa: F401
import horovod_training  # noqa: F401
import horovod_optimizers  # noqa: F401
import horovod_elastic  # noqa: F401
