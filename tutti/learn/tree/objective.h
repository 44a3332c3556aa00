// Objective functions (losses) for gradient boosting: gradients, hessians and initial scores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tutti/learn/tree/gradient_pair.h"
#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Scores are rows x outputs, row-major. All functions are thread-safe.
class Objective {
 public:
  virtual ~Objective() = default;
  virtual int outputs() const { return 1; }
  virtual Link link() const { return Link::kIdentity; }
  // Whether all hessians equal the sample weights.
  virtual bool has_constant_hessian() const { return false; }
  // Bounds of |gradient| and hessian for a row of weight 1; 0: unknown.
  virtual GradientPair bounds() const { return {0, 0}; }
  // Initial score of all rows, from the weighted mean of the moments over the rows.
  virtual void add_moments(double label, double weight, std::span<double> sums) const;
  virtual std::vector<double> base(std::span<const double> means) const;
  // Quantile of the residuals (label - score) to which leaf values and the initial score are set, for objectives whose
  // gradients do not determine the step length.
  virtual std::optional<double> leaf_quantile() const { return {}; }
  // Gradients with respect to output `k` for the rows [begin, end), multiplied by the sample weights.
  virtual void gradients(std::span<const double> labels, std::span<const double> weights,
                         std::span<const double> scores, int k, std::int64_t begin,
                         std::int64_t end, GradientPair* out) const = 0;
  // Loss of one row.
  virtual double loss(double label, std::span<const double> scores) const = 0;
  // Throws ConfigError (DDL-9-20) if a label is invalid for the objective.
  virtual void check(std::span<const double> labels) const;
};

// Names: "squared_error", "logistic", "softmax" (with `classes`, see BoostOptions::class_curvature), "poisson",
// "quantile" (with `alpha`), "absolute_error". Throws ConfigError (DDL-9-20), which lists them.
std::unique_ptr<Objective> make_objective(std::string_view name, int classes, double alpha,
                                          double class_curvature = 1);

}  // namespace tutti::learn::tree
