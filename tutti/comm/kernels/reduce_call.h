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
  std::int64_t divisor;  // 1 when nothing is to be divided
  bool is_large;         // more than the caches hold
  bool streams;          // large, and the targets are aligned and hold nothing that is to be read
};

}  // namespace tutti::comm
