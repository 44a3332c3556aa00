// Option `check`: repeats every reduction in rank order and compares the results.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/core/result.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

class SelfCheck {
 public:
  // Runs one collective of the communicator. All ranks call it in the same order.
  using Run = std::function<Result(const Operation&)>;

  // `layout` must outlive the check.
  SelfCheck(int rank, int size, const topo::Layout& layout, Run run);

  static bool covers(const Operation& operation);

  // Performs the operation, then gathers the inputs of all ranks piece by piece, reduces them in rank order and
  // compares. Integers must be equal, floats within the rounding error of another order. Fails with the first wrong
  // element. NaN and infinity in an input are not a failure: every rank logs the rank and the element. After the first
  // few operations these warnings become exponentially rarer, because non-finite values usually persist.
  Result perform(const Operation& operation);

 private:
  Result compare(const Operation& operation, const std::vector<std::byte>& input) const;
  Result compare_piece(const Operation& operation, const std::vector<std::byte>& gathered,
                       std::int64_t begin, std::int64_t count) const;
  Result trace_not_finite(const Operation& operation, const std::vector<std::byte>& input);

  const int rank_;
  const int size_;
  const topo::Layout& layout_;
  const Run run_;
  std::uint64_t not_finite_ = 0;  // operations with non-finite inputs so far
};

}  // namespace tutti::comm
