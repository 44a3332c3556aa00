// SHAP values of tree models.
#pragma once

#include <span>
#include <vector>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Returns rows x outputs x (columns + 1) values. The last value of each group is the mean raw prediction over the
// training rows; the others are the contributions of the columns, and all of them sum to the raw prediction.
// Expectations use the covers of the nodes (path-dependent TreeSHAP). Throws ConfigError (DDL-9-21) if the number of
// columns differs from the model, (DDL-9-23) without covers.
std::vector<double> shap_values(const Model& model, const Matrix& matrix, Threads& threads);

}  // namespace tutti::learn::tree
