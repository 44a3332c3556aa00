// The arguments of one reduction, as they go to the instruction set chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::comm {

struct ReduceCall {
  std::span<const void* const> sources;
  std::span<void* const> targets;
  std::size_t count;
  std::int64_t divisor;  // 1 when nothing is to be divided
};

}  // namespace tutti::comm
