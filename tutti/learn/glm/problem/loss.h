// What a linear model pays for a row: a function of its margin x.w + intercept and its label.
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
// The inverse; throws ConfigError that lists the names.
Loss parse_loss(std::string_view name);

constexpr bool is_classification(Loss loss) {
  return loss == Loss::kLogistic || loss == Loss::kHinge || loss == Loss::kSquaredHinge;
}
// Whether it has a gradient everywhere, which Newton's method needs.
constexpr bool is_smooth(Loss loss) {
  return loss != Loss::kHinge;
}

// The weighted sum over `count` rows, and per row the weighted first and second derivative by the
// margin (of kHinge the second is 0). `weights` may be null: all 1. T is float or double.
template <class T>
double loss_terms(Loss loss, const T* margins, const T* labels, const T* weights,
                  std::int64_t count, T* first, T* second);

// The margin that fits labels of this weighted mean best, when all rows get the same one.
double constant_margin(Loss loss, double mean_label);

}  // namespace tutti::learn
