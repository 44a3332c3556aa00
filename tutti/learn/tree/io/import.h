// Models that other libraries have made.
#pragma once

#include <string_view>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// What XGBoost's save_model("x.json") or ("x.ubj") wrote. It compares f32 with "less than", so
// thresholds become the f32 below; values between two of f32 may go another way. Refused are
// categories.
Model import_xgboost(std::string_view json);

// The text of LightGBM's save_model. Refused are columns whose zeros are missing (zero_as_missing)
// and linear trees.
Model import_lightgbm(std::string_view text);

// All throw ConfigError (DDL-9-24) that says what cannot be read.

}  // namespace tutti::learn::tree
