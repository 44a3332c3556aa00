// Properties of a study that a search algorithm may use.
#pragma once

#include <cstdint>

#include "tutti/tune/space.h"

namespace tutti::tune {

struct SearchPlan {
  std::int64_t trials = 0;  // 0: unknown
  int parallel = 1;         // trials at once
  std::uint64_t seed = 0;
  Space space = {};  // empty: the program asks for one parameter after the other
};

}  // namespace tutti::tune
