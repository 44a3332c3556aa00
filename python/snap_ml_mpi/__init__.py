"""Snap ML over the ranks of a job: `ddlrun -n 4 python app.py` or `mpirun -n 4 python app.py`. Each rank has its share of the rows;
the models are those of one process."""

from snap_ml_mpi.estimators import LinearRegression, LogisticRegression, SupportVectorMachine
from snap_ml_mpi.trees import (BoostingMachineClassifier, BoostingMachineRegressor, DecisionTreeClassifier, DecisionTreeRegressor,
                               ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor)

__all__ = ["BoostingMachineClassifier", "BoostingMachineRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor",
           "ExtraTreesClassifier", "ExtraTreesRegressor", "LinearRegression", "LogisticRegression", "RandomForestClassifier",
           "RandomForestRegressor", "SupportVectorMachine"]
