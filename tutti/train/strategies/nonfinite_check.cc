#include "tutti/train/strategies/nonfinite_check.h"

#include <torch/types.h>

#include "tutti/train/optim/finite.h"

namespace tutti::train {

void NonFiniteCheck::check(int buffer, std::size_t first, std::size_t last) {
  if (first == last || !layer_.empty()) return;
  const std::vector<Segment>& segments = parameters_.segments();
  auto part = [&](std::size_t from, std::size_t to) {
    const std::int64_t begin = segments[from].begin, end = segments[to].begin + segments[to].count;
    return parameters_.gradients(buffer).subspan(static_cast<std::size_t>(begin),
                                                 static_cast<std::size_t>(end - begin));
  };
  if (squares_are_finite(part(first, last - 1))) return;
  while (squares_are_finite(part(last - 1, last - 1))) --last;
  layer_ = segments[last - 1].name;
}

void NonFiniteCheck::start_reduction() {
  not_finite_ = layer_.empty() ? 0 : 1;
  if (group_.size() == 1) return;
  const Buffer mine{&not_finite_, 1, DType::kF32};
  reduction_ = group_.all_reduce_async(mine, mine, ReduceOp::kMax, {.name = "finite"});
}

bool NonFiniteCheck::is_finite() {
  reduction_.wait();
  reduction_ = comm::Work();
  return not_finite_ == 0;
}

}  // namespace tutti::train
