// Models for other programs.
#pragma once

#include <string>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// An ONNX file (opset 3 of ai.onnx.ml): input "x", float rows; output "y", rows x outputs after the
// link. Thresholds become f32, rounded down, which changes nothing for rows of f32. Throws
// ConfigError (DDL-9-25) for columns of categories, which it cannot hold.
std::string to_onnx(const Model& model);

// PMML 4.4: fields by column_names, or x0, x1, ...; answers y0, y1, ... after the link.
std::string to_pmml(const Model& model);

// One C++ source without includes of ours: `void <name>(const double* x, double* y)` gives the
// outputs after the link. NaN is a missing value.
std::string to_cpp(const Model& model, const std::string& name);

}  // namespace tutti::learn::tree
