#include "tutti/comm/kernels/kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tutti/comm/kernels/sanitizer.h"
#include "tutti/comm/kernels/vector_kernels.h"

namespace tutti::comm {
namespace {

using internal::will_read;
using internal::will_write;

// Total bytes read and written from which on no data stays in the private caches of a core.
constexpr std::size_t kLargeBytes = 4 << 20;
// Below this size the copy may be needed in the cache, and the fence costs more than the stores save.
constexpr std::size_t kStreamBytes = 1 << 20;

bool are_fresh(std::span<void* const> targets, std::span<const void* const> sources) {
  return std::all_of(targets.begin(), targets.end(), [&](const void* target) {
    return reinterpret_cast<std::uintptr_t>(target) % 64 == 0 &&
           std::find(sources.begin(), sources.end(), target) == sources.end();
  });
}

// The sum of all sources cannot overflow, whatever their number. SIMD instruction sets have no integer division, so
// this is not vectorized.
template <class T>
void average_integers(std::span<const void* const> sources, std::span<void* const> targets,
                      std::int64_t count, std::int64_t divisor) {
  __extension__ using Wide = __int128;
  using Sum = std::conditional_t<sizeof(T) == sizeof(std::int64_t), Wide, std::int64_t>;
  for (std::int64_t i = 0; i < count; ++i) {
    Sum sum = 0;
    T value;
    for (const void* source : sources) {
      std::memcpy(&value, static_cast<const T*>(source) + i, sizeof value);
      sum += value;
    }
    value = static_cast<T>(sum / divisor);
    for (void* target : targets) std::memcpy(static_cast<T*>(target) + i, &value, sizeof value);
  }
}

void average_integers(DType dtype, std::span<const void* const> sources,
                      std::span<void* const> targets, std::int64_t count, std::int64_t divisor) {
  switch (dtype) {
    case DType::kI8: return average_integers<std::int8_t>(sources, targets, count, divisor);
    case DType::kU8: return average_integers<std::uint8_t>(sources, targets, count, divisor);
    case DType::kI32: return average_integers<std::int32_t>(sources, targets, count, divisor);
    default: return average_integers<std::int64_t>(sources, targets, count, divisor);
  }
}

}  // namespace

void reduce(DType dtype, ReduceOp op, std::span<const void* const> sources,
            std::span<void* const> targets, std::int64_t count, std::int64_t divisor) {
  if (count <= 0) return;
  if (op == ReduceOp::kAverage && !is_floating(dtype)) {
    return average_integers(dtype, sources, targets, count, divisor);
  }
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype);
  for (const void* source : sources) will_read(source, bytes);
  for (void* target : targets) will_write(target, bytes);
  const bool is_large = bytes * (sources.size() + targets.size()) >= kLargeBytes;
  reduce_vectors(dtype, op,
                 {.sources = sources,
                  .targets = targets,
                  .count = static_cast<std::size_t>(count),
                  .divisor = op == ReduceOp::kAverage ? divisor : 1,
                  .is_large = is_large,
                  .streams = is_large && are_fresh(targets, sources)});
}

void copy_to_peers(void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  will_read(source, bytes);
  will_write(target, bytes);
  copy_vectors(target, source, bytes);
}

void stream_copy(void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes < kStreamBytes) {
    std::memcpy(target, source, bytes);
    return;
  }
  will_read(source, bytes);
  will_write(target, bytes);
  stream_vectors(target, source, bytes);
}

void convert(DType from, const void* source, DType to, void* target, std::int64_t count) {
  if (count <= 0) return;
  const auto elements = static_cast<std::size_t>(count);
  if (from == to) {
    std::memcpy(target, source, elements * size_of(from));
    return;
  }
  will_read(source, elements * size_of(from));
  will_write(target, elements * size_of(to));
  convert_vectors(from, source, to, target, elements);
}

std::int64_t find_not_finite(DType dtype, const void* data, std::int64_t count) {
  if (count <= 0) return -1;
  will_read(data, static_cast<std::size_t>(count) * size_of(dtype));
  return find_not_finite_in_vectors(dtype, data, static_cast<std::size_t>(count));
}

const char* simd_target() {
  return vector_target();
}

}  // namespace tutti::comm
