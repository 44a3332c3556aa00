// Arguments of one reduction by the vector kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::comm {

struct ReduceCall {
  std::span<const void* const> sources;
  std::span<void* const> targets;
  std::size_t count;
  std::int64_t divisor;  // 1: no division
  bool is_large;         // the data exceeds the caches
  bool streams;          // large, and the targets are aligned and are not sources
};

}  // namespace tutti::comm
