// Option `check`: every reduction is done a second time, slowly and in fixed order, and compared.
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
  // Runs one collective of the communicator; all ranks call it alike.
  using Run = std::function<Result(const Operation&)>;

  // `layout` must outlive the check.
  SelfCheck(int rank, int size, const topo::Layout& layout, Run run);

  static bool covers(const Operation& operation);

  // The operation, then the comparison: everybody's input is gathered piece by piece and folded in
  // rank order. Integers must be equal, floats within what rounding in another order allows. Fails
  // with the first element that is not. NaN and infinity in an input are no failure; every rank
  // warns which rank brought them, where: of the first operations that have some, then of ever
  // fewer, because what is not finite once mostly stays so.
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
  std::uint64_t not_finite_ = 0;  // operations so far
};

}  // namespace tutti::comm
