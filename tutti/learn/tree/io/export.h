// Export of models to ONNX, PMML and C++.
#pragma once

#include <string>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Returns an ONNX file (ai.onnx.ml opset 3): input "x", rows of floats; output "y", rows x outputs after the link.
// Thresholds are rounded down to f32, which does not change predictions for f32 rows. Throws ConfigError (DDL-9-25) for
// categorical columns, which ONNX does not support.
std::string to_onnx(const Model& model);

// Returns PMML 4.4: fields named by column_names, or x0, x1, ...; predictions y0, y1, ... after the link.
std::string to_pmml(const Model& model);

// Returns one self-contained C++ source: `void <name>(const double* x, double* y)` computes the outputs after the link.
// NaN is a missing value.
std::string to_cpp(const Model& model, const std::string& name);

}  // namespace tutti::learn::tree
