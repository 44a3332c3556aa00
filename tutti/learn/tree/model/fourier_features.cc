#include "tutti/learn/tree/model/fourier_features.h"

#include <numbers>

#include "tutti/learn/base/hash.h"

namespace tutti::learn::tree {
namespace {

double normal(std::uint64_t seed) {
  const double radius = std::sqrt(-2 * std::log(1 - unit(mix(seed, 1))));
  return radius * std::cos(2 * std::numbers::pi * unit(mix(seed, 2)));
}

}  // namespace

FourierFeatures::FourierFeatures(std::span<const FourierColumn> columns,
                                 const FourierLearner& learner)
    : columns_(columns.begin(), columns.end()) {
  for (std::size_t k = 0; k < learner.coefficients.size(); ++k) {
    const bool is_constant = k == 0 && learner.has_constant;
    const std::uint64_t seed = mix(learner.seed, k);
    phases_.push_back(is_constant ? 0 : 2 * std::numbers::pi * unit(mix(seed, 0)));
    for (std::size_t c = 0; c < columns.size(); ++c)
      directions_.push_back(is_constant ? 0 : columns[c].rate * normal(mix(seed, c + 1)));
  }
}

}  // namespace tutti::learn::tree
