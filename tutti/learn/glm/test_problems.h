// Small problems with optimality checks.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "tutti/learn/glm/fit.h"

namespace tutti::learn {

// A dense f64 problem that owns its data.
struct Small {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values, labels, weights = {};

  Matrix matrix() const {
    return {.dtype = DType::kF64,
            .rows = rows,
            .columns = columns,
            .values = values.data(),
            .row_stride = columns};
  }
  GlmModel fit(const GlmOptions& options) const {
    return learn::fit(matrix(), labels, weights, options);
  }
};

inline Small make_small(std::int64_t rows, std::int64_t columns, Loss loss, std::uint32_t seed,
                        double density = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Small small{.rows = rows,
              .columns = columns,
              .values = std::vector<double>(rows * columns),
              .labels = std::vector<double>(rows)};
  std::vector<double> teacher(columns);
  for (double& weight : teacher) weight = normal(random) / std::sqrt(static_cast<double>(columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    double margin = 0.3;
    for (std::int64_t j = 0; j < columns; ++j) {
      double& x = small.values[r * columns + j];
      x = std::generate_canonical<double, 32>(random) < density ? normal(random) : 0;
      margin += x * teacher[j];
    }
    margin += 0.5 * normal(random);
    switch (loss) {
      case Loss::kSquared: small.labels[r] = margin; break;
      case Loss::kPoisson: small.labels[r] = std::floor(std::exp(margin)); break;
      case Loss::kGamma: small.labels[r] = std::exp(margin); break;
      default: small.labels[r] = margin > 0 ? 1 : -1;
    }
  }
  return small;
}

inline double objective_of(const Small& small, const GlmModel& model, const GlmOptions& options) {
  const std::vector<double> margins =
      margins_of(small.matrix(), model.coefficients, model.intercept, 1);
  std::vector<double> first(small.rows), second(small.rows);
  double sum = loss_terms(options.loss, margins.data(), small.labels.data(),
                          small.weights.empty() ? nullptr : small.weights.data(), small.rows,
                          first.data(), second.data());
  for (const double w : model.coefficients)
    sum += options.l2 / 2 * w * w + options.l1 * std::abs(w);
  if (options.fit_intercept && options.penalise_intercept) {
    const double v = model.intercept / options.intercept_value;
    sum += options.l2 / 2 * v * v;
  }
  return sum;
}

// Maximum norm of the gradient, including the intercept; for smooth losses without l1.
inline double gradient_of(const Small& small, const GlmModel& model, const GlmOptions& options) {
  const std::vector<double> margins =
      margins_of(small.matrix(), model.coefficients, model.intercept, 1);
  std::vector<double> first(small.rows), second(small.rows);
  loss_terms(options.loss, margins.data(), small.labels.data(),
             small.weights.empty() ? nullptr : small.weights.data(), small.rows, first.data(),
             second.data());
  double largest = 0, sum = 0;
  for (const double d : first) sum += d;
  if (options.fit_intercept && !options.penalise_intercept) largest = std::abs(sum);
  for (std::int64_t j = 0; j < small.columns; ++j) {
    double g = options.l2 * model.coefficients[j];
    for (std::int64_t r = 0; r < small.rows; ++r)
      g += first[r] * small.values[r * small.columns + j];
    largest = std::max(largest, std::abs(g));
  }
  return largest;
}

}  // namespace tutti::learn
