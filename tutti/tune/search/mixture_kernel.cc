#include "tutti/tune/search/mixture_kernel.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/tune/search/mixture_kernel.cc"
#include <hwy/foreach_target.h>
// Included after foreach_target.h, which includes this file again for each instruction set.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::tune::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;

void subtract_half_squares(const float* positions, const float* inverse_widths, float x,
                           float* logs, std::size_t count) {
  const Lanes lanes;
  const std::size_t width = hn::Lanes(lanes);
  const auto point = hn::Set(lanes, x), minus_half = hn::Set(lanes, -0.5f);
  std::size_t k = 0;
  for (; k + width <= count; k += width) {
    const auto difference = hn::Sub(point, hn::LoadU(lanes, positions + k));
    const auto distance = hn::Mul(difference, hn::LoadU(lanes, inverse_widths + k));
    const auto half = hn::Mul(minus_half, distance);
    hn::StoreU(hn::MulAdd(half, distance, hn::LoadU(lanes, logs + k)), lanes, logs + k);
  }
  for (; k < count; ++k) {
    const float distance = (x - positions[k]) * inverse_widths[k];
    logs[k] -= 0.5f * distance * distance;
  }
}

void add_where_equal(const float* observed, float choice, float same, float other, float* logs,
                     std::size_t count) {
  const Lanes lanes;
  const std::size_t width = hn::Lanes(lanes);
  const auto wanted = hn::Set(lanes, choice), if_same = hn::Set(lanes, same),
             if_other = hn::Set(lanes, other);
  std::size_t k = 0;
  for (; k + width <= count; k += width) {
    const auto is_same = hn::Eq(hn::LoadU(lanes, observed + k), wanted);
    hn::StoreU(hn::Add(hn::LoadU(lanes, logs + k), hn::IfThenElse(is_same, if_same, if_other)),
               lanes, logs + k);
  }
  for (; k < count; ++k) logs[k] += observed[k] == choice ? same : other;
}

float maximum(const float* values, std::size_t count) {
  const Lanes lanes;
  const std::size_t width = hn::Lanes(lanes);
  auto largest = hn::Set(lanes, -std::numeric_limits<float>::infinity());
  std::size_t k = 0;
  for (; k + width <= count; k += width) largest = hn::Max(largest, hn::LoadU(lanes, values + k));
  float result = hn::GetLane(hn::MaxOfLanes(lanes, largest));
  for (; k < count; ++k) result = values[k] > result ? values[k] : result;
  return result;
}

double log_sum_exp(const float* logs, std::size_t count) {
  const float largest = maximum(logs, count);
  if (!(largest > -std::numeric_limits<float>::infinity())) return largest;
  const Lanes lanes;
  const std::size_t width = hn::Lanes(lanes);
  const auto shift = hn::Set(lanes, largest);
  auto sums = hn::Zero(lanes);
  std::size_t k = 0;
  for (; k + width <= count; k += width) {
    sums = hn::Add(sums, hn::Exp(lanes, hn::Sub(hn::LoadU(lanes, logs + k), shift)));
  }
  double sum = hn::GetLane(hn::SumOfLanes(lanes, sums));
  for (; k < count; ++k) sum += std::exp(logs[k] - largest);
  return static_cast<double>(largest) + std::log(sum);
}

}  // namespace tutti::tune::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::tune {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(subtract_half_squares);
HWY_EXPORT(add_where_equal);
HWY_EXPORT(log_sum_exp);

void subtract_half_squares(const float* positions, const float* inverse_widths, float x,
                           float* logs, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(subtract_half_squares)(positions, inverse_widths, x, logs, count);
}

void add_where_equal(const float* observed, float choice, float same, float other, float* logs,
                     std::size_t count) {
  HWY_DYNAMIC_DISPATCH(add_where_equal)(observed, choice, same, other, logs, count);
}

double log_sum_exp(const float* logs, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(log_sum_exp)(logs, count);
}

}  // namespace tutti::tune
#endif
