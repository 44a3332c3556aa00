#pragma once

#include <span>

namespace tutti::train {

// Whether none of them is infinite or not a number. At the speed of memory.
bool all_finite(std::span<const float> values);
// Whether all are below 2^64, so that f32 holds the square of each, and the sum of as many as there
// may be ranks. At the same speed.
bool squares_are_finite(std::span<const float> values);

}  // namespace tutti::train
