"""Decision trees, forests and boosting: everything about trees in one place."""

from tutti.learn.tree_boosting import (BoostingMachineClassifier, BoostingMachineRegressor, GradientBoostingClassifier,
                                       GradientBoostingRegressor)
from tutti.learn.tree_forest import (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreesClassifier, ExtraTreesRegressor,
                                     RandomForestClassifier, RandomForestRegressor)

__all__ = ["BoostingMachineClassifier", "BoostingMachineRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor",
           "ExtraTreesClassifier", "ExtraTreesRegressor", "GradientBoostingClassifier", "GradientBoostingRegressor",
           "RandomForestClassifier", "RandomForestRegressor"]
