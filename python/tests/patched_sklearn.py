"""Plugin of pytest that patches scikit-learn before its test modules are imported."""

import snap_ml

snap_ml.patch_sklearn()
