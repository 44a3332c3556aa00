#include "tutti/learn/model/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/glm/fit.h"
#include "tutti/learn/tree/predict/predictor.h"

namespace tutti::learn {
namespace {

std::vector<double> margins_of_parts(const SavedModel& model, const Matrix& features, int threads) {
  const Matrix numbers = one_hot_encode(features, model.categories);
  const std::size_t count = model.parts.size();
  std::vector<double> all(static_cast<std::size_t>(features.rows) * count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto margins =
        margins_of(numbers, model.parts[k].coefficients, model.parts[k].intercept, threads);
    for (std::size_t row = 0; row < margins.size(); ++row) all[row * count + k] = margins[row];
  }
  return all;
}

std::vector<double> raw_of_trees(const SavedModel& model, const Matrix& features, int threads) {
  Threads workers(threads);
  const tree::Predictor predictor(*model.trees);
  std::vector<double> raw(static_cast<std::size_t>(features.rows * predictor.outputs()));
  predictor.predict(features, raw, workers);
  tree::apply_link(model.trees->link, predictor.outputs(), raw);
  return raw;
}

// Normalises the values of each row to sum 1.
void normalise(std::vector<double>& values, std::size_t classes) {
  for (std::size_t row = 0; row < values.size(); row += classes) {
    const double sum =
        std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(row),
                        values.begin() + static_cast<std::ptrdiff_t>(row + classes), 0.0);
    for (std::size_t k = 0; k < classes; ++k)
      values[row + k] = sum > 0 ? values[row + k] / sum : 1.0 / static_cast<double>(classes);
  }
}

std::vector<double> two_columns(const std::vector<double>& positive) {
  std::vector<double> both;
  for (const double probability : positive) both.insert(both.end(), {1 - probability, probability});
  return both;
}

double logistic(double margin) {
  return 0.5 * (1 + std::tanh(0.5 * margin));
}

// Returns rows x classes: probabilities, or margins for models without probabilities.
std::vector<double> scores_of(const SavedModel& model, const Matrix& features, int threads) {
  const std::size_t classes = model.classes.size();
  if (model.trees) {
    const std::vector<double> values = raw_of_trees(model, features, threads);
    return values.size() == static_cast<std::size_t>(features.rows) ? two_columns(values) : values;
  }
  std::vector<double> margins = margins_of_parts(model, features, threads);
  if (!model.has_probabilities()) {
    if (classes > 2) return margins;
    std::vector<double> both;
    for (const double margin : margins) both.insert(both.end(), {-margin, margin});
    return both;
  }
  if (model.is_multinomial) {
    for (std::size_t row = 0; row < margins.size(); row += classes) {
      const auto begin = margins.begin() + static_cast<std::ptrdiff_t>(row);
      const double largest = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes));
      for (std::size_t k = 0; k < classes; ++k)
        margins[row + k] = std::exp(margins[row + k] - largest);
    }
  } else {
    for (double& margin : margins) margin = logistic(margin);
    if (classes == 2) return two_columns(margins);
  }
  normalise(margins, classes);
  return margins;
}

}  // namespace

Predictions predict(const SavedModel& model, const Matrix& features, int threads) {
  if (features.columns != model.columns)
    throw ConfigError("DDL-9-21", fmt::format("The model has {} columns, the data has {}.",
                                              model.columns, features.columns));
  Predictions found;
  if (model.classes.empty()) {
    found.values = model.trees ? raw_of_trees(model, features, threads)
                               : margins_of_parts(model, features, threads);
    if (model.has_log_link)
      for (double& value : found.values) value = std::exp(value);
    return found;
  }
  const std::vector<double> scores = scores_of(model, features, threads);
  const std::size_t classes = model.classes.size();
  for (std::size_t row = 0; row < scores.size(); row += classes) {
    const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(row);
    const auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes)) - begin;
    found.values.push_back(model.classes[best]);
  }
  if (model.has_probabilities()) found.probabilities = scores;
  return found;
}

std::string quality_of(const SavedModel& model, const Predictions& predictions,
                       std::span<const double> labels) {
  const double rows = static_cast<double>(labels.size());
  const double mean = std::accumulate(labels.begin(), labels.end(), 0.0) / rows;
  double right = 0, loss = 0, squares = 0, spread = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const double wrong = predictions.values[row] - labels[row];
    right += wrong == 0;
    squares += wrong * wrong;
    spread += (labels[row] - mean) * (labels[row] - mean);
    if (predictions.probabilities.empty()) continue;
    const auto found = std::find(model.classes.begin(), model.classes.end(), labels[row]);
    const std::size_t classes = model.classes.size();
    const double probability =
        found == model.classes.end()
            ? 0
            : predictions.probabilities[row * classes +
                                        static_cast<std::size_t>(found - model.classes.begin())];
    loss -= std::log(std::clamp(probability, 1e-15, 1.0));
  }
  if (model.classes.empty())
    return fmt::format("mean squared error {:.6g}, R2 {:.4f}", squares / rows,
                       spread > 0 ? 1 - squares / spread : 0);
  std::string text = fmt::format("accuracy {:.4f}", right / rows);
  if (!predictions.probabilities.empty()) text += fmt::format(", log loss {:.5f}", loss / rows);
  return text;
}

}  // namespace tutti::learn
