// What each column adds to the answer for one row: SHAP values of trees.
#pragma once

#include <span>
#include <vector>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// rows x outputs x (columns + 1) numbers, the last of each being the mean answer over the training
// rows; the others say how far each column moves the raw answer from there, and all together add up
// to it. Averages over what is not known go by the covers of the nodes (the path-dependent form).
// Throws ConfigError (DDL-9-21) on other columns than the model's, (DDL-9-23) without covers.
std::vector<double> shap_values(const Model& model, const Matrix& matrix, Threads& threads);

}  // namespace tutti::learn::tree
