"""Tutti: distributed training on CPU clusters.

Subpackages are imported on demand:

    tutti.torch            backend `ddl` of torch.distributed
    tutti.horovod.torch    drop-in replacement for horovod.torch
    tutti.learn            linear models and tree ensembles with the scikit-learn API
    tutti.tune             hyper-parameter search with the API of Optuna
    tutti.job              the job this process belongs to, and the exceptions of the library

The packages `ddl`, `pyddl`, `snap_ml` and `snap_ml_mpi` provide the established names of PowerAI DDL and Snap ML.
"""

__version__ = "0.1.0"
