#include "tutti/learn/glm/problem/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/learn/base/vector_kernels.h"

namespace tutti::learn {
namespace {

constexpr std::array<std::pair<Loss, std::string_view>, 6> kNames = {{
    {Loss::kSquared, "squared"},
    {Loss::kLogistic, "logistic"},
    {Loss::kHinge, "hinge"},
    {Loss::kSquaredHinge, "squared_hinge"},
    {Loss::kPoisson, "poisson"},
    {Loss::kGamma, "gamma"},
}};

struct Terms {
  double value, first, second;
};

// Larger exponents overflow in f32. The line search detects the increase and reduces the step.
constexpr double kLargestExponent = 80;

Terms terms_of(Loss loss, double margin, double label) {
  switch (loss) {
    case Loss::kSquared: {
      const double rest = margin - label;
      return {rest * rest / 2, rest, 1};
    }
    case Loss::kHinge: {
      const double rest = 1 - label * margin;
      return {std::max(rest, 0.0), rest > 0 ? -label : 0, 0};
    }
    case Loss::kSquaredHinge: {
      const double rest = std::max(0.0, 1 - label * margin);
      return {rest * rest, -2 * label * rest, rest > 0 ? 2.0 : 0.0};
    }
    case Loss::kPoisson: {
      const double mean = std::exp(std::min(margin, kLargestExponent));
      return {mean - label * margin, mean - label, mean};
    }
    case Loss::kGamma: {
      const double ratio = label * std::exp(std::min(-margin, kLargestExponent));
      return {ratio + margin, 1 - ratio, ratio};
    }
    case Loss::kLogistic: break;
  }
  return {};
}

}  // namespace

std::string_view name_of(Loss loss) {
  for (const auto& [value, name] : kNames)
    if (value == loss) return name;
  return "";
}

Loss parse_loss(std::string_view name) {
  std::string all;
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", known);
  }
  throw ConfigError("DDL-9-10", fmt::format("Unknown loss '{}'. Valid values: {}.", name, all));
}

template <class T>
double loss_terms(Loss loss, const T* margins, const T* labels, const T* weights,
                  std::int64_t count, T* first, T* second) {
  if (loss == Loss::kLogistic)
    return logistic_terms(margins, labels, weights, count, first, second);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Terms terms = terms_of(loss, margins[i], labels[i]);
    const double weight = weights != nullptr ? static_cast<double>(weights[i]) : 1.0;
    sum += weight * terms.value;
    first[i] = static_cast<T>(weight * terms.first);
    second[i] = static_cast<T>(weight * terms.second);
  }
  return sum;
}

template double loss_terms(Loss, const float*, const float*, const float*, std::int64_t, float*,
                           float*);
template double loss_terms(Loss, const double*, const double*, const double*, std::int64_t, double*,
                           double*);

double constant_margin(Loss loss, double mean_label) {
  const double fraction = std::clamp((mean_label + 1) / 2, 1e-6, 1 - 1e-6);  // fraction of label 1
  switch (loss) {
    case Loss::kSquared: return mean_label;
    case Loss::kLogistic: return std::log(fraction / (1 - fraction));
    case Loss::kPoisson:
    case Loss::kGamma: return std::log(std::max(mean_label, 1e-12));
    default: return std::clamp(mean_label, -1.0, 1.0);
  }
}

}  // namespace tutti::learn
