// Loss functions of linear models: functions of the margin x.w + intercept and the label of a row.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti::learn {

enum class Loss : std::uint8_t {
  kSquared,       // (margin - label)^2 / 2
  kLogistic,      // log(1 + exp(-label * margin)), labels -1 and 1
  kHinge,         // max(0, 1 - label * margin), labels -1 and 1
  kSquaredHinge,  // max(0, 1 - label * margin)^2, labels -1 and 1
  kPoisson,       // exp(margin) - label * margin, labels >= 0
  kGamma,         // label * exp(-margin) + margin, labels > 0
};

std::string_view name_of(Loss loss);
// The inverse of name_of. Throws ConfigError, which lists the valid names.
Loss parse_loss(std::string_view name);

constexpr bool is_classification(Loss loss) {
  return loss == Loss::kLogistic || loss == Loss::kHinge || loss == Loss::kSquaredHinge;
}
// Returns whether the loss is differentiable everywhere, as Newton's method requires.
constexpr bool is_smooth(Loss loss) {
  return loss != Loss::kHinge;
}

// Returns the weighted sum over `count` rows, and writes the weighted first and second derivatives with respect to the
// margin of each row (kHinge: second is 0). `weights` null: all 1. T is float or double.
template <class T>
double loss_terms(Loss loss, const T* margins, const T* labels, const T* weights,
                  std::int64_t count, T* first, T* second);

// Returns the constant margin that minimises the loss, for labels with this weighted mean.
double constant_margin(Loss loss, double mean_label);

}  // namespace tutti::learn
