// Prediction with model files, and evaluation of predictions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/model/saved_model.h"

namespace tutti::learn {

struct Predictions {
  std::vector<double> values;         // predicted class or number per row
  std::vector<double> probabilities;  // rows x classes, row-major; empty: the model has none
};
// Throws ConfigError if the number of columns differs from the model.
Predictions predict(const SavedModel& model, const Matrix& features, int threads);

// Returns metrics as text: "accuracy 0.93, log loss 0.21" or "mean squared error 0.4, R2 0.8".
std::string quality_of(const SavedModel& model, const Predictions& predictions,
                       std::span<const double> labels);

}  // namespace tutti::learn
