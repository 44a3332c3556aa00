// Predictions of model files, and their quality.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/model/saved_model.h"

namespace tutti::learn {

struct Predictions {
  std::vector<double> values;         // classes or numbers, one per row
  std::vector<double> probabilities;  // rows x classes, row by row, or empty
};
// Throws ConfigError when the columns are others than the model's.
Predictions predict(const SavedModel& model, const Matrix& features, int threads);

// "accuracy 0.93, log loss 0.21" or "mean squared error 0.4, R2 0.8"
std::string quality_of(const SavedModel& model, const Predictions& predictions,
                       std::span<const double> labels);

}  // namespace tutti::learn
