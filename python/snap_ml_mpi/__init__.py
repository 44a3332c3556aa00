"""Snap ML over the ranks of a job.

Start programs with `ddlrun -n 4 python app.py` or `mpirun -n 4 python app.py`. Each rank passes its part of the rows;
the models are those of a single process with all rows.
"""

from snap_ml_mpi.estimators import LinearRegression, LogisticRegression, SupportVectorMachine
from snap_ml_mpi.trees import (BoostingMachineClassifier, BoostingMachineRegressor, DecisionTreeClassifier, DecisionTreeRegressor,
                               ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor)

__all__ = ["BoostingMachineClassifier", "BoostingMachineRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor",
           "ExtraTreesClassifier", "ExtraTreesRegressor", "LinearRegression", "LogisticRegression", "RandomForestClassifier",
           "RandomForestRegressor", "SupportVectorMachine"]
