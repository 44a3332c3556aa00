"""Decision trees, random forests, extra trees, gradient boosting, and import of models from other libraries."""

from tutti.learn.tree_boosting import (BoostingMachineClassifier, BoostingMachineRegressor, GradientBoostingClassifier,
                                       GradientBoostingRegressor)
from tutti.learn.tree_forest import (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreesClassifier, ExtraTreesRegressor,
                                     RandomForestClassifier, RandomForestRegressor)
from tutti.learn.tree_import import ImportedTrees, import_lightgbm, import_sklearn, import_xgboost, read_trees

__all__ = ["BoostingMachineClassifier", "BoostingMachineRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor",
           "ExtraTreesClassifier", "ExtraTreesRegressor", "GradientBoostingClassifier", "GradientBoostingRegressor",
           "ImportedTrees", "RandomForestClassifier", "RandomForestRegressor", "import_lightgbm", "import_sklearn",
           "import_xgboost", "read_trees"]
