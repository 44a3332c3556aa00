// Import of models from XGBoost and LightGBM.
#pragma once

#include <string_view>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Parses a file written by XGBoost's save_model("x.json") or ("x.ubj"). XGBoost compares f32 with "less than", so
// thresholds become the next smaller f32; f64 values between two f32 may be routed differently. Categorical splits are
// not supported.
Model import_xgboost(std::string_view json);

// Parses the text written by LightGBM's save_model. zero_as_missing and linear trees are not supported.
Model import_lightgbm(std::string_view text);

// Both throw ConfigError (DDL-9-24), which names the unsupported part.

}  // namespace tutti::learn::tree
