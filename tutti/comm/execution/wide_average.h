// Averages of integers whose sum overflows their type.
#pragma once

#include <cstdint>
#include <functional>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/core/result.h"

namespace tutti::comm {

// Algorithms that reduce in several steps exchange partial sums in the type of the operation; the average of 200 and
// 100 in u8 would be computed from 300 modulo 256. The operation therefore runs on wider elements:
// - i8, u8: as i32
// - i32: as i64
// - i64: as the quotient and the remainder of the division by the number of ranks, both summed in i64; exact for all
//   elements
// The result is the exact average, rounded towards zero. Large operations run in chunks, so the wide copies take a few
// MiB.
//
// Not needed if a single call of `reduce` (kernels.h) reduces the elements of all ranks.
class WideAverage {
 public:
  using Run = std::function<Result(const Operation&)>;

  static bool covers(const Operation& operation);

  // `rank` of `ranks`. `run` performs an operation of all ranks; all ranks call it the same number of times.
  WideAverage(Arena& arena, int rank, int ranks, Run run);
  // Performs an all_reduce, reduce or reduce_scatter.
  Result perform(const Operation& operation) const;

 private:
  Result reduce_whole(const Operation& operation) const;
  Result reduce_scatter(const Operation& operation) const;

  Arena& arena_;
  const int rank_, ranks_;
  const Run run_;
};

}  // namespace tutti::comm
