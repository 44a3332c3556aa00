#include "tutti/learn/tree/grow/row_partitioner.h"

#include <algorithm>
#include <numeric>

#include "tutti/learn/tree/grow/grow_policy.h"
#include "tutti/learn/tree/grow/row_partition.h"

namespace tutti::learn::tree {

// Partitions every chunk within its range of the scratch memory. When the sizes of all left parts are known, copies
// everything back in order.
template <class Record>
std::int64_t RowPartitioner<Record>::partition(const GrownNode& parent,
                                               std::uint64_t* small_histogram,
                                               NodeSums* left_sums) {
  const std::int64_t chunk = context_.chunk_rows();
  const std::int64_t parts = parts_of(parent.size(), chunk);
  const auto table = table_of(parent.split);
  const auto [bins, stride] = context_.data.one_column(parent.split.column);
  Record* const rows = context_.growth.records.data() + parent.begin;
  // Small nodes use memory that stays in the cache.
  const bool is_small =
      context_.threads == nullptr && context_.growth.has_room && parent.size() <= kSubtreeRows;
  if (is_small) partitioned_.resize(kSubtreeRows);
  Record* const partitioned =
      is_small ? partitioned_.data() : context_.growth.scratch.data() + parent.begin;
  std::vector<std::int64_t> lefts(static_cast<std::size_t>(parts));
  std::vector<NodeSums> sums(context_.slots);
  for (NodeSums& one : sums) one.classes.resize(parent.sums.classes.size());
  std::vector<std::uint64_t*> histograms;
  if (small_histogram != nullptr) histograms = histograms_.slot_histograms(small_histogram, parts);
  context_.run(parts, [&](std::size_t slot, std::int64_t index) {
    const std::int64_t begin = index * chunk, size = std::min(chunk, parent.size() - begin);
    Record* target = partitioned + begin;
    const std::int64_t left = partition_rows(rows + begin, size, target, bins, stride, table);
    lefts[index] = left;
    if (left_sums != nullptr)
      add_to(sums[slot], std::span<const Record>(target, static_cast<std::size_t>(left)));
    if (small_histogram == nullptr) return;
    if (parent.split.left_is_smaller)
      histograms_.add_rows_of({target, static_cast<std::size_t>(left)}, histograms[slot]);
    else
      histograms_.add_rows_of({target + left, static_cast<std::size_t>(size - left)},
                              histograms[slot]);
  });
  histograms_.merge(histograms);
  const std::int64_t left_size = std::accumulate(lefts.begin(), lefts.end(), std::int64_t{0});
  std::vector<std::int64_t> starts(lefts.size());
  std::exclusive_scan(lefts.begin(), lefts.end(), starts.begin(), std::int64_t{0});
  context_.run(parts, [&](std::size_t, std::int64_t index) {
    const std::int64_t begin = index * chunk, size = std::min(chunk, parent.size() - begin);
    const std::int64_t left = lefts[index];
    const std::int64_t start = starts[index];
    std::copy_n(partitioned + begin, left, rows + start);
    std::reverse_copy(partitioned + begin + left, partitioned + begin + size,
                      rows + left_size + begin - start);
  });
  if (left_sums == nullptr) return left_size;
  for (std::size_t slot = 1; slot < context_.slots; ++slot) add(sums[0], sums[slot]);
  exchange_.reduce(sums[0]);
  *left_sums = sums[0];
  return left_size;
}

template class RowPartitioner<NarrowRecord>;
template class RowPartitioner<WideRecord>;

}  // namespace tutti::learn::tree
