#pragma once

#include <span>

namespace tutti::train {

// Whether none of them is infinite or not a number. At the speed of memory.
bool all_finite(std::span<const float> values);

}  // namespace tutti::train
