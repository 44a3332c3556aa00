// Objective functions of gradient boosting.
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

// Scores are rows x outputs, row by row. All calls are safe from several threads.
class Objective {
 public:
  virtual ~Objective() = default;
  virtual int outputs() const { return 1; }
  virtual Link link() const { return Link::kIdentity; }
  // Hessians are all equal to the weights.
  virtual bool has_constant_hessian() const { return false; }
  // Bounds of |gradient| and hessian for a row of weight 1; 0: none are known.
  virtual GradientPair bounds() const { return {0, 0}; }
  // The score of every row before the first tree, from the weighted mean of `moments` over rows.
  virtual void add_moments(double label, double weight, std::span<double> sums) const;
  virtual std::vector<double> base(std::span<const double> means) const;
  // The share of what is left, label - score, that a leaf's value must not be below, where its sums
  // of gradients do not tell how far to go; so the score before the first tree, too.
  virtual std::optional<double> leaf_quantile() const { return {}; }
  // Gradients with respect to output `k` of the rows [begin, end), each times the row's weight.
  virtual void gradients(std::span<const double> labels, std::span<const double> weights,
                         std::span<const double> scores, int k, std::int64_t begin,
                         std::int64_t end, GradientPair* out) const = 0;
  // Loss of one row.
  virtual double loss(double label, std::span<const double> scores) const = 0;
  // Throws ConfigError (DDL-9-20) when the labels are not of the kind it needs.
  virtual void check(std::span<const double> labels) const;
};

// "squared_error", "logistic", "softmax" (with `classes`, see BoostOptions::class_curvature),
// "poisson", "quantile" (with `alpha`), "absolute_error".
// Throws ConfigError (DDL-9-20) that lists the names.
std::unique_ptr<Objective> make_objective(std::string_view name, int classes, double alpha,
                                          double class_curvature = 1);

}  // namespace tutti::learn::tree
