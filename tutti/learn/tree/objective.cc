#include "tutti/learn/tree/objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"
#include "tutti/learn/tree/internal/logistic_kernel.h"

namespace tutti::learn::tree {
namespace {

double weight_of(std::span<const double> weights, std::int64_t row) {
  return weights.empty() ? 1 : weights[row];
}

// Calls make(label, score) -> {gradient, hessian} for each row.
template <class Make>
void each_row(std::span<const double> labels, std::span<const double> weights,
              std::span<const double> scores, std::int64_t begin, std::int64_t end,
              GradientPair* out, const Make& make) {
  for (std::int64_t row = begin; row < end; ++row) {
    const auto [gradient, hessian] = make(labels[row], scores[row]);
    const double weight = weight_of(weights, row);
    out[row - begin] = {static_cast<float>(gradient * weight),
                        static_cast<float>(hessian * weight)};
  }
}

using Pair = std::pair<double, double>;

class SquaredError : public Objective {
 public:
  bool has_constant_hessian() const override { return true; }
  void gradients(std::span<const double> labels, std::span<const double> weights,
                 std::span<const double> scores, int, std::int64_t begin, std::int64_t end,
                 GradientPair* out) const override {
    each_row(labels, weights, scores, begin, end, out,
             [](double label, double score) { return Pair(score - label, 1); });
  }
  double loss(double label, std::span<const double> scores) const override {
    return (label - scores[0]) * (label - scores[0]) / 2;
  }
};

class Logistic : public Objective {
 public:
  Link link() const override { return Link::kLogistic; }
  GradientPair bounds() const override { return {1, 0.25F}; }
  std::vector<double> base(std::span<const double> means) const override {
    const double mean = std::clamp(means[0], 1e-10, 1 - 1e-10);
    return {std::log(mean / (1 - mean))};
  }
  void gradients(std::span<const double> labels, std::span<const double> weights,
                 std::span<const double> scores, int, std::int64_t begin, std::int64_t end,
                 GradientPair* out) const override {
    logistic_gradients(labels.data() + begin, weights.empty() ? nullptr : weights.data() + begin,
                       scores.data() + begin, static_cast<std::size_t>(end - begin), out);
  }
  double loss(double label, std::span<const double> scores) const override {
    const double margin = label > 0.5 ? scores[0] : -scores[0];
    return margin > 0 ? std::log1p(std::exp(-margin)) : -margin + std::log1p(std::exp(margin));
  }
  void check(std::span<const double> labels) const override {
    for (const double label : labels)
      if (!(label >= 0 && label <= 1))
        throw ConfigError("DDL-9-20", fmt::format("the label {} is not between 0 and 1.", label));
  }
};

class Softmax : public Objective {
 public:
  Softmax(int classes, double curvature) : classes_(classes), curvature_(curvature) {}
  int outputs() const override { return classes_; }
  Link link() const override { return Link::kSoftmax; }
  GradientPair bounds() const override { return {1, static_cast<float>(0.25 * curvature_)}; }
  void add_moments(double label, double weight, std::span<double> sums) const override {
    sums[label] += weight;
  }
  std::vector<double> base(std::span<const double> means) const override {
    std::vector<double> scores;
    for (const double mean : means) scores.push_back(std::log(std::max(mean, 1e-10)));
    return scores;
  }
  void gradients(std::span<const double> labels, std::span<const double> weights,
                 std::span<const double> scores, int k, std::int64_t begin, std::int64_t end,
                 GradientPair* out) const override {
    const auto classes = static_cast<std::size_t>(classes_);
    for (std::int64_t row = begin; row < end; ++row) {
      const double* own = scores.data() + static_cast<std::size_t>(row) * classes;
      const double greatest = *std::max_element(own, own + classes);
      double sum = 0;
      for (std::size_t i = 0; i < classes; ++i) sum += std::exp(own[i] - greatest);
      const double p = std::exp(own[k] - greatest) / sum;
      const double weight = weight_of(weights, row);
      const bool is_class = labels[row] == k;
      out[row - begin] = {static_cast<float>((p - (is_class ? 1 : 0)) * weight),
                          static_cast<float>(std::max(curvature_ * p * (1 - p), 1e-16) * weight)};
    }
  }
  double loss(double label, std::span<const double> scores) const override {
    const double greatest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - greatest);
    return std::log(sum) + greatest - scores[label];
  }
  void check(std::span<const double> labels) const override {
    for (const double label : labels)
      if (!(label >= 0 && label < classes_ && label == std::floor(label)))
        throw ConfigError("DDL-9-20",
                          fmt::format("the label {} is not one of 0 to {}.", label, classes_ - 1));
  }

 private:
  int classes_;
  double curvature_;
};

class Poisson : public Objective {
 public:
  Link link() const override { return Link::kExp; }
  std::vector<double> base(std::span<const double> means) const override {
    return {std::log(std::max(means[0], 1e-10))};
  }
  void gradients(std::span<const double> labels, std::span<const double> weights,
                 std::span<const double> scores, int, std::int64_t begin, std::int64_t end,
                 GradientPair* out) const override {
    each_row(labels, weights, scores, begin, end, out, [](double label, double score) {
      const double mean = std::exp(std::min(score, 60.0));
      return Pair(mean - label, mean);
    });
  }
  double loss(double label, std::span<const double> scores) const override {
    return std::exp(scores[0]) - label * scores[0];
  }
  void check(std::span<const double> labels) const override {
    for (const double label : labels)
      if (!(label >= 0 && std::isfinite(label)))
        throw ConfigError("DDL-9-20", fmt::format("the label {} is not a count.", label));
  }
};

// Pinball loss times `scale`; twice the median's is the absolute error.
class Quantile : public Objective {
 public:
  explicit Quantile(double alpha, double scale = 1) : alpha_(alpha), scale_(scale) {}
  std::optional<double> leaf_quantile() const override { return alpha_; }
  bool has_constant_hessian() const override { return true; }
  GradientPair bounds() const override { return {1, 1}; }
  void gradients(std::span<const double> labels, std::span<const double> weights,
                 std::span<const double> scores, int, std::int64_t begin, std::int64_t end,
                 GradientPair* out) const override {
    each_row(labels, weights, scores, begin, end, out, [&](double label, double score) {
      return Pair(scale_ * (label > score ? -alpha_ : 1 - alpha_), 1);
    });
  }
  double loss(double label, std::span<const double> scores) const override {
    const double error = label - scores[0];
    return scale_ * (error > 0 ? alpha_ * error : (alpha_ - 1) * error);
  }

 private:
  double alpha_, scale_;
};

}  // namespace

void Objective::add_moments(double label, double weight, std::span<double> sums) const {
  sums[0] += label * weight;
}

std::vector<double> Objective::base(std::span<const double> means) const {
  return {means.begin(), means.end()};
}

void Objective::check(std::span<const double> labels) const {
  for (const double label : labels)
    if (!std::isfinite(label))
      throw ConfigError("DDL-9-20", fmt::format("the label {} is not a number.", label));
}

std::unique_ptr<Objective> make_objective(std::string_view name, int classes, double alpha,
                                          double class_curvature) {
  if (name == "squared_error") return std::make_unique<SquaredError>();
  if (name == "logistic") return std::make_unique<Logistic>();
  if (name == "softmax" && classes >= 2) return std::make_unique<Softmax>(classes, class_curvature);
  if (name == "poisson") return std::make_unique<Poisson>();
  if (name == "quantile" && alpha > 0 && alpha < 1) return std::make_unique<Quantile>(alpha);
  if (name == "absolute_error") return std::make_unique<Quantile>(0.5, 2);
  throw ConfigError(
      "DDL-9-20",
      fmt::format("invalid objective '{}' with {} classes and alpha {}. Valid objectives: "
                  "squared_error, logistic, softmax, poisson, quantile, absolute_error.",
                  name, classes, alpha));
}

}  // namespace tutti::learn::tree
