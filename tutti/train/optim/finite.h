#pragma once

#include <span>

namespace tutti::train {

// True if no value is infinite or NaN. Limited by memory bandwidth.
bool all_finite(std::span<const float> values);
// True if all absolute values are below 2^64, so that f32 can represent their squares and the sum of these over the
// ranks. Limited by memory bandwidth.
bool squares_are_finite(std::span<const float> values);

}  // namespace tutti::train
