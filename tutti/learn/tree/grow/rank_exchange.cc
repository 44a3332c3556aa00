#include "tutti/learn/tree/grow/rank_exchange.h"

#include <algorithm>
#include <numeric>

#include "tutti/comm/communicator.h"

namespace tutti::learn::tree {

RankExchange::RankExchange(comm::Communicator* communicator, const HistogramShape& shape,
                           int columns, bool is_by_column)
    : communicator_(communicator), shape_(shape), end_column_(columns) {
  if (communicator == nullptr || !is_by_column) return;
  const int ranks = communicator->size();
  for (int rank = 0; rank < ranks; ++rank) {
    const int first = columns * rank / ranks, end = columns * (rank + 1) / ranks;
    words_of_ranks_.push_back((end - first) * static_cast<std::int64_t>(shape_.words_per_column()));
    if (rank == communicator->rank()) first_column_ = first, end_column_ = end;
  }
}

RankExchange::RankExchange(comm::Communicator* communicator, const HistogramShape& shape,
                           const SparseBinnedData& data, bool is_by_column)
    : communicator_(communicator),
      shape_(shape),
      end_column_(data.columns()),
      own_slots_{0, static_cast<SparseBinnedData::Slot>(data.slots())} {
  if (communicator == nullptr || !is_by_column) return;
  const auto ranks = static_cast<std::uint64_t>(communicator->size());
  // Ranges of equal size, extended to the end of their last column.
  const auto bound = [&](std::uint64_t rank) {
    if (rank == 0 || data.slots() == 0) return SparseBinnedData::Slot{0};
    const auto last =
        static_cast<SparseBinnedData::Slot>((data.slots() * rank + ranks - 1) / ranks - 1);
    return data.slots_of(data.column_of(last)).end;
  };
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const SparseBinnedData::SlotRange range = {bound(rank), bound(rank + 1)};
    words_of_ranks_.push_back(
        static_cast<std::int64_t>((range.end - range.begin) * shape_.words_per_bin()));
    if (rank == static_cast<std::uint64_t>(communicator->rank())) own_slots_ = range;
  }
}

void RankExchange::reduce_column(std::uint64_t* words) const {
  if (communicator_ == nullptr) return;
  communicator_->all_reduce(
      {words, static_cast<std::int64_t>(shape_.words_per_column()), DType::kI64});
}

void RankExchange::reduce(NodeSums& sums) const {
  if (communicator_ == nullptr) return;
  std::vector<std::int64_t> numbers = {sums.gradient, sums.hessian, sums.count};
  numbers.insert(numbers.end(), sums.classes.begin(), sums.classes.end());
  communicator_->all_reduce(Buffer::of<std::int64_t>(numbers));
  sums = {numbers[0], numbers[1], numbers[2], {numbers.begin() + 3, numbers.end()}};
}

void RankExchange::reduce_scatter(std::uint64_t* histogram) const {
  if (communicator_ == nullptr) return;
  scatter(histogram, static_cast<std::size_t>(first_column_) * shape_.words_per_column());
}

void RankExchange::reduce_slots(std::uint64_t* words) const {
  if (communicator_ == nullptr) return;
  const std::size_t per_slot = shape_.words_per_bin();
  if (!words_of_ranks_.empty()) return scatter(words, own_slots_.begin * per_slot);
  communicator_->all_reduce(
      {words, static_cast<std::int64_t>(own_slots_.end * per_slot), DType::kI64});
}

// Reduces all words; this rank stores its own from `first` on.
void RankExchange::scatter(std::uint64_t* words, std::size_t first) const {
  const auto rank = static_cast<std::size_t>(communicator_->rank());
  const std::int64_t all =
      std::accumulate(words_of_ranks_.begin(), words_of_ranks_.end(), std::int64_t{0});
  std::vector<std::int64_t> own(static_cast<std::size_t>(words_of_ranks_[rank]));
  communicator_->reduce_scatter({words, all, DType::kI64}, Buffer::of<std::int64_t>(own),
                                ReduceOp::kSum, words_of_ranks_);
  std::copy(own.begin(), own.end(), words + first);
}

void RankExchange::choose_best(Split& split) const {
  if (communicator_ == nullptr) return;
  std::vector<Split> all(static_cast<std::size_t>(communicator_->size()));
  const auto bytes = static_cast<std::int64_t>(sizeof(Split));
  communicator_->all_gather({&split, bytes, DType::kU8},
                            {all.data(), bytes * communicator_->size(), DType::kU8});
  for (const Split& one : all)
    if (one.is_better_than(split)) split = one;
}

}  // namespace tutti::learn::tree
