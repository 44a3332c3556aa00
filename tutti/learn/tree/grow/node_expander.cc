#include "tutti/learn/tree/grow/node_expander.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <type_traits>

#include "tutti/comm/communicator.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/grow/node_rules.h"
#include "tutti/learn/tree/grow/row_partition.h"

namespace tutti::learn::tree {
namespace {

// Below this many rows most of the 256 bins are empty, and it pays to look at the rows themselves.
constexpr std::int64_t kRowsWithoutHistogram = 128;
// Rows that one thread takes at a time: what parting them has brought into the cache is still there
// when they go into the histogram. With many tiles it pays to stay longer at each.
constexpr std::int64_t kChunkOfRows = 2048, kChunkOfTiles = 16384;

// Copying the bins of a subtree together pays when its rows are partitioned at least so often.
constexpr int kLevelsToCopy = 2;

std::int64_t parts_of(std::int64_t size, std::int64_t chunk) {
  return (size + chunk - 1) / chunk;
}

// Copies the bins of the records' rows together, and makes the records count them.
template <int kStride, class Record>
void gather(const std::uint8_t* from, std::span<Record> records, std::uint8_t* to,
            std::uint32_t* originals) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::size_t ahead = std::min(i + kPartitionLookahead, records.size() - 1);
    __builtin_prefetch(from + static_cast<std::size_t>(records[ahead].row) * kStride);
    originals[i] = records[i].row;
    std::memcpy(to + i * kStride, from + static_cast<std::size_t>(records[i].row) * kStride,
                kStride);
    records[i].row = static_cast<std::uint32_t>(i);
  }
}

}  // namespace

template <class Record>
NodeExpander<Record>::NodeExpander(const Growth<Record>& growth, Threads* threads)
    : growth_(growth),
      data_(&growth.data),
      shape_(growth.search.shape()),
      threads_(threads),
      slots_(threads == nullptr ? 1 : static_cast<std::size_t>(threads->count())),
      pool_(shape_.words()),
      zeros_(shape_.words_per_column()),
      has_all_columns_(growth.options.columns.size() ==
                       static_cast<std::size_t>(growth.data.columns())),
      end_column_(growth.data.columns()) {
  const GrowOptions& options = growth.options;
  are_rows_classes_ = sizeof(Record) == sizeof(NarrowRecord) && growth.source != nullptr &&
                      options.is_classification && !options.keeps_last_rows && has_all_columns_ &&
                      options.max_leaves == 0 && !samples_columns() &&
                      can_split_levels(growth.data.rows());
  if (growth.communicator == nullptr || samples_columns()) return;
  const int ranks = growth.communicator->size(), columns = growth.data.columns();
  for (int rank = 0; rank < ranks; ++rank) {
    const int first = columns * rank / ranks, end = columns * (rank + 1) / ranks;
    words_of_ranks_.push_back((end - first) * static_cast<std::int64_t>(shape_.words_per_column()));
    if (rank == growth.communicator->rank()) first_column_ = first, end_column_ = end;
  }
}

template <class Record>
void NodeExpander<Record>::run(std::int64_t parts, const Body& body) {
  if (threads_ == nullptr || parts <= 1) {
    for (std::int64_t part = 0; part < parts; ++part) body(0, part);
    return;
  }
  std::atomic<std::int64_t> next = 0;
  threads_->run(std::min(static_cast<std::int64_t>(slots_), parts), [&](std::int64_t slot) {
    for (std::int64_t part; (part = next++) < parts;) body(static_cast<std::size_t>(slot), part);
  });
}

template <class Record>
bool NodeExpander<Record>::may_split(const GrownNode& node) const {
  return tree::may_split(node, growth_.options, growth_.search.rules());
}

template <class Record>
bool NodeExpander<Record>::uses_records(const GrownNode& node) const {
  return growth_.communicator == nullptr && records_are_contiguous_ &&
         node.size() <= kRowsWithoutHistogram;
}

template <class Record>
void NodeExpander<Record>::add_rows_of(std::span<const Record> rows, std::uint64_t* histogram,
                                       Ahead* ahead) {
  if (!has_all_columns_) return add_rows(*data_, growth_.options.columns, rows, shape_, histogram);
  for (int tile = 0; tile < data_->tiles(); ++tile)
    add_rows(*data_, tile, rows, shape_, histogram, ahead);
}

// One histogram for each thread that takes part, the first being `target`, all of zeros.
template <class Record>
std::vector<std::uint64_t*> NodeExpander<Record>::slot_histograms(std::uint64_t* target,
                                                                  std::int64_t parts) {
  std::vector<std::uint64_t*> histograms = {target};
  while (histograms.size() < std::min(slots_, static_cast<std::size_t>(parts)) &&
         threads_ != nullptr)
    histograms.push_back(pool_.take());
  run(static_cast<std::int64_t>(histograms.size()), [&](std::size_t, std::int64_t i) {
    std::memset(histograms[static_cast<std::size_t>(i)], 0, pool_.words() * sizeof(std::uint64_t));
  });
  return histograms;
}

template <class Record>
void NodeExpander<Record>::merge(std::span<std::uint64_t* const> histograms) {
  constexpr std::int64_t kWords = 2048;
  if (histograms.size() > 1)
    run(parts_of(static_cast<std::int64_t>(pool_.words()), kWords),
        [&](std::size_t, std::int64_t part) {
          const auto begin = static_cast<std::size_t>(part * kWords);
          const auto end = std::min(pool_.words(), begin + kWords);
          for (std::size_t slot = 1; slot < histograms.size(); ++slot)
            for (std::size_t i = begin; i < end; ++i) histograms[0][i] += histograms[slot][i];
        });
  for (std::size_t slot = 1; slot < histograms.size(); ++slot) pool_.give(histograms[slot]);
}

template <class Record>
void NodeExpander<Record>::subtract(std::uint64_t* from, const std::uint64_t* what) {
  for (std::size_t i = 0; i < pool_.words(); ++i) from[i] -= what[i];
}

template <class Record>
void NodeExpander<Record>::sum_root(GrownNode& root, std::uint64_t* histogram) {
  const std::int64_t chunk = growth_.data.tiles() > 1 ? kChunkOfTiles : kChunkOfRows;
  const std::int64_t parts = parts_of(root.size(), chunk);
  std::vector<NodeSums> sums(slots_);
  for (NodeSums& one : sums)
    one.classes.resize(
        static_cast<std::size_t>(shape_.kind == Kind::kClasses ? shape_.classes : 0));
  std::vector<std::uint64_t*> histograms;
  if (histogram != nullptr) histograms = slot_histograms(histogram, parts);
  run(parts, [&](std::size_t slot, std::int64_t part) {
    const std::int64_t begin = root.begin + part * chunk;
    const std::span<const Record> rows(growth_.records.data() + begin,
                                       static_cast<std::size_t>(std::min(chunk, root.end - begin)));
    add_to(sums[slot], rows);
    if (histogram != nullptr) add_rows_of(rows, histograms[slot]);
  });
  merge(histograms);
  root.sums = sums[0];
  for (std::size_t slot = 1; slot < slots_; ++slot) add(root.sums, sums[slot]);
  share_sums(root.sums);
  if (histogram != nullptr) share_histogram(histogram);
}

// Every chunk is partitioned within its own place of the scratch memory; once the sizes of all left
// parts are known, everything is copied back to where it belongs, in order.
template <class Record>
std::int64_t NodeExpander<Record>::part(const GrownNode& parent, std::uint64_t* small_histogram,
                                        NodeSums* left_sums) {
  const std::int64_t chunk = growth_.data.tiles() > 1 ? kChunkOfTiles : kChunkOfRows;
  const std::int64_t parts = parts_of(parent.size(), chunk);
  const auto table = table_of(parent.split);
  const auto [bins, stride] = data_->one_column(parent.split.column);
  Record* const rows = growth_.records.data() + parent.begin;
  // Small nodes are partitioned in memory that stays in the cache, from one to the next.
  const bool is_small = threads_ == nullptr && growth_.has_room && parent.size() <= kSubtreeRows;
  if (is_small) partitioned_.resize(kSubtreeRows);
  Record* const partitioned =
      is_small ? partitioned_.data() : growth_.scratch.data() + parent.begin;
  std::vector<std::int64_t> lefts(static_cast<std::size_t>(parts));
  std::vector<NodeSums> sums(slots_);
  for (NodeSums& one : sums) one.classes.resize(parent.sums.classes.size());
  std::vector<std::uint64_t*> histograms;
  if (small_histogram != nullptr) histograms = slot_histograms(small_histogram, parts);
  run(parts, [&, bins = bins, stride = stride](std::size_t slot, std::int64_t index) {
    const std::int64_t begin = index * chunk, size = std::min(chunk, parent.size() - begin);
    Record* target = partitioned + begin;
    const std::int64_t left = partition_rows(rows + begin, size, target, bins, stride, table);
    lefts[static_cast<std::size_t>(index)] = left;
    if (left_sums != nullptr)
      add_to(sums[slot], std::span<const Record>(target, static_cast<std::size_t>(left)));
    if (small_histogram == nullptr) return;
    if (parent.split.left_is_smaller)
      add_rows_of({target, static_cast<std::size_t>(left)}, histograms[slot]);
    else
      add_rows_of({target + left, static_cast<std::size_t>(size - left)}, histograms[slot]);
  });
  merge(histograms);
  const std::int64_t left_size = std::accumulate(lefts.begin(), lefts.end(), std::int64_t{0});
  std::vector<std::int64_t> starts(lefts.size());
  std::exclusive_scan(lefts.begin(), lefts.end(), starts.begin(), std::int64_t{0});
  run(parts, [&](std::size_t, std::int64_t index) {
    const std::int64_t begin = index * chunk, size = std::min(chunk, parent.size() - begin);
    const std::int64_t left = lefts[static_cast<std::size_t>(index)];
    const std::int64_t start = starts[static_cast<std::size_t>(index)];
    std::copy_n(partitioned + begin, left, rows + start);
    std::reverse_copy(partitioned + begin + left, partitioned + begin + size,
                      rows + left_size + begin - start);
  });
  if (left_sums == nullptr) return left_size;
  for (std::size_t slot = 1; slot < slots_; ++slot) add(sums[0], sums[slot]);
  share_sums(sums[0]);
  *left_sums = sums[0];
  return left_size;
}

template <class Record>
ExpandEntry NodeExpander<Record>::begin(std::vector<GrownNode>& nodes) {
  GrownNode& root = nodes.emplace_back();
  if (are_rows_classes_) growth_.records.resize(data_->rows());
  root.end = growth_.records.size;
  root.path = growth_.root.path != 0 ? growth_.root.path : mix(growth_.options.seed);
  root.depth = growth_.root.depth;
  ExpandEntry open = {0, nullptr};
  if (!samples_columns() && !uses_records(root)) open.histogram = pool_.take();
  if (are_rows_classes_)
    sum_classes(root, open.histogram);
  else
    sum_root(root, open.histogram);
  find_splits(nodes, {&open, 1});
  return open;
}

template <class Record>
void NodeExpander<Record>::drop(ExpandEntry& open) {
  pool_.give(open.histogram);
  open.histogram = nullptr;
}

template <class Record>
void NodeExpander<Record>::grow_subtree(std::vector<GrownNode>& nodes, ExpandEntry root) {
  if constexpr (std::is_same_v<Record, NarrowRecord>)
    if (ClassSubtree::suits(growth_, nodes[0])) {
      if (!class_subtree_) class_subtree_.emplace(growth_);
      class_subtree_->grow(nodes, root.histogram);
      return;
    }
  enter(nodes[0]);
  grow_depth_first(*this, nodes, root);
  leave(nodes[0]);
}

template <class Record>
void NodeExpander<Record>::enter(const GrownNode& root) {
  const BinnedData& data = growth_.data;
  const int most = growth_.options.max_depth;
  const bool is_soon_done = (most > 0 && most - root.depth < kLevelsToCopy) || uses_records(root);
  if (!growth_.has_room || data.tiles() > 1 || is_soon_done) return;
  if (!copy_) copy_.emplace(kSubtreeRows, data.columns());
  originals_.resize(static_cast<std::size_t>(root.size()));
  const std::span<Record> records(growth_.records.data() + root.begin, originals_.size());
  const auto gather_by = [&]<int kStride>() {
    gather<kStride>(data.tile(0), records, copy_->tile(0), originals_.data());
  };
  switch (data.stride()) {
    case 4: gather_by.template operator()<4>(); break;
    case 8: gather_by.template operator()<8>(); break;
    case 16: gather_by.template operator()<16>(); break;
    default: gather_by.template operator()<32>();
  }
  data_ = &*copy_;
}

template <class Record>
void NodeExpander<Record>::leave(const GrownNode& root) {
  if (data_ == &growth_.data) return;
  for (std::int64_t i = root.begin; i < root.end; ++i) {
    Record& record = growth_.records.data()[i];
    record.row = originals_[record.row];
  }
  data_ = &growth_.data;
}

template <class Record>
std::vector<ExpandEntry> NodeExpander<Record>::expand(std::vector<GrownNode>& nodes,
                                                      ExpandEntry parent) {
  const int depth = nodes[static_cast<std::size_t>(parent.index)].depth + 1;
  const bool is_last = growth_.options.max_depth > 0 && depth >= growth_.options.max_depth;
  const GrownNode& above = nodes[static_cast<std::size_t>(parent.index)];
  const bool is_partitioned = !is_last || growth_.options.keeps_last_rows ||
                              parent.histogram == nullptr || growth_.communicator != nullptr;
  NodeSums sums;
  std::int64_t left_size = 0;
  const bool are_known = parent.histogram != nullptr && growth_.communicator == nullptr;
  if (are_known)
    sums = left_sums(
        shape_,
        parent.histogram + static_cast<std::size_t>(above.split.column) * shape_.words_per_column(),
        above.split);
  if (is_last) drop(parent);
  std::uint64_t* small_histogram = parent.histogram != nullptr ? pool_.take() : nullptr;
  if (is_partitioned) left_size = part(above, small_histogram, are_known ? nullptr : &sums);
  if (is_partitioned && are_known) sums.count = left_size;
  if (small_histogram != nullptr) {
    share_histogram(small_histogram);
    subtract(parent.histogram, small_histogram);
  }
  const auto both = add_pair(nodes, parent, small_histogram, sums, left_size);
  std::vector<ExpandEntry> children(both.begin(), both.end());
  find_splits(nodes, children);
  std::erase_if(children, [&](const ExpandEntry& open) {
    return !nodes[static_cast<std::size_t>(open.index)].split.exists();
  });
  return children;
}

template <class Record>
std::array<ExpandEntry, 2> NodeExpander<Record>::add_pair(std::vector<GrownNode>& nodes,
                                                          const ExpandEntry& parent,
                                                          std::uint64_t* small_histogram,
                                                          const NodeSums& sums,
                                                          std::int64_t left_size) {
  const std::int32_t first = add_children(nodes, parent.index, left_size);
  const GrownNode& node = nodes[static_cast<std::size_t>(parent.index)];
  nodes[static_cast<std::size_t>(first)].sums = sums;
  nodes[static_cast<std::size_t>(first) + 1].sums = difference(node.sums, sums);
  std::array<ExpandEntry, 2> both = {{{first, parent.histogram}, {first + 1, small_histogram}}};
  if (node.split.left_is_smaller) std::swap(both[0].histogram, both[1].histogram);
  return both;
}

// Afterwards nodes that will not be split have no split and no histogram.
template <class Record>
void NodeExpander<Record>::find_splits(std::vector<GrownNode>& nodes, std::span<ExpandEntry> open) {
  std::vector<ExpandEntry> by_histogram;
  for (ExpandEntry& one : open) {
    GrownNode& node = nodes[static_cast<std::size_t>(one.index)];
    if (!may_split(node) || (uses_records(node) && !samples_columns())) drop(one);
    if (!may_split(node)) continue;
    if (samples_columns())
      search_sampled(node);
    else if (one.histogram == nullptr)
      search_records(node);
    else
      by_histogram.push_back(one);
  }
  if (!by_histogram.empty()) search_histograms(nodes, by_histogram);
  for (ExpandEntry& one : open) {
    GrownNode& node = nodes[static_cast<std::size_t>(one.index)];
    keep_if_good(node, growth_.options, growth_.search);
    if (!node.split.exists()) drop(one);
  }
}

template <class Record>
void NodeExpander<Record>::search_histograms(std::vector<GrownNode>& nodes,
                                             std::span<const ExpandEntry> open) {
  const auto& columns = growth_.options.columns;
  const auto per_node = static_cast<std::int64_t>(columns.size());
  std::vector<Split> best(slots_ * open.size());
  constexpr std::int64_t kColumns = 4;  // at a time
  const std::int64_t parts_per_node = parts_of(per_node, kColumns);
  run(parts_per_node * static_cast<std::int64_t>(open.size()),
      [&](std::size_t slot, std::int64_t part) {
        const auto which = static_cast<std::size_t>(part / parts_per_node);
        const std::int64_t begin = part % parts_per_node * kColumns;
        const GrownNode& node = nodes[static_cast<std::size_t>(open[which].index)];
        for (std::int64_t i = begin; i < std::min(per_node, begin + kColumns); ++i) {
          const int column = columns[static_cast<std::size_t>(i)];
          if (column < first_column_ || column >= end_column_) continue;
          growth_.search.try_histogram(
              column,
              open[which].histogram + static_cast<std::size_t>(column) * shape_.words_per_column(),
              node.sums, node.path, best[which * slots_ + slot]);
        }
      });
  for (std::size_t which = 0; which < open.size(); ++which) {
    Split& split = nodes[static_cast<std::size_t>(open[which].index)].split;
    for (std::size_t slot = 0; slot < slots_; ++slot)
      if (best[which * slots_ + slot].is_better_than(split)) split = best[which * slots_ + slot];
    share_split(split);
  }
}

template <class Record>
void NodeExpander<Record>::search_records(GrownNode& node) {
  const std::span<const Record> rows(growth_.records.data() + node.begin,
                                     static_cast<std::size_t>(node.size()));
  RecordSums reader(shape_, zeros_.data());
  ColumnSums sums;
  for (const int column : growth_.options.columns) {
    reader.read(*data_, column, rows, sums);
    growth_.search.try_column(column, sums, node.sums, node.path, node.split);
    reader.clear();
  }
}

template <class Record>
void NodeExpander<Record>::try_sampled(GrownNode& node, std::span<const int> columns,
                                       std::uint64_t* histogram, int& tried) {
  const std::span<const Record> rows(growth_.records.data() + node.begin,
                                     static_cast<std::size_t>(node.size()));
  const bool by_records = uses_records(node);
  const std::size_t words = shape_.words_per_column();
  RecordSums reader(shape_, zeros_.data());
  ColumnSums sums;
  if (!by_records) {
    for (const int column : columns)
      std::memset(histogram + static_cast<std::size_t>(column) * words, 0,
                  words * sizeof(std::uint64_t));
    add_rows(*data_, columns, rows, shape_, histogram);
    if (growth_.communicator != nullptr)
      for (const int column : columns)
        growth_.communicator->all_reduce({histogram + static_cast<std::size_t>(column) * words,
                                          static_cast<std::int64_t>(words), DType::kI64});
  }
  for (const int column : columns) {
    if (by_records)
      reader.read(*data_, column, rows, sums);
    else
      read_histogram(shape_, histogram + static_cast<std::size_t>(column) * words,
                     growth_.search.bins(column).count(), sums);
    tried += sums.can_be_split() ? 1 : 0;
    growth_.search.try_column(column, sums, node.sums, node.path, node.split);
    reader.clear();
  }
}

template <class Record>
void NodeExpander<Record>::search_sampled(GrownNode& node) {
  std::uint64_t* histogram = uses_records(node) ? nullptr : pool_.take();
  sample_columns(node, growth_.options, [&](std::span<const int> columns, int& tried) {
    try_sampled(node, columns, histogram, tried);
  });
  pool_.give(histogram);
}

template <class Record>
void NodeExpander<Record>::share_sums(NodeSums& sums) {
  if (growth_.communicator == nullptr) return;
  std::vector<std::int64_t> numbers = {sums.gradient, sums.hessian, sums.count};
  numbers.insert(numbers.end(), sums.classes.begin(), sums.classes.end());
  growth_.communicator->all_reduce(Buffer::of<std::int64_t>(numbers));
  sums = {numbers[0], numbers[1], numbers[2], {numbers.begin() + 3, numbers.end()}};
}

// Each rank gets the sums of its own columns; the others' are not used.
template <class Record>
void NodeExpander<Record>::share_histogram(std::uint64_t* histogram) {
  if (growth_.communicator == nullptr) return;
  const auto words = static_cast<std::int64_t>(pool_.words());
  const auto rank = static_cast<std::size_t>(growth_.communicator->rank());
  std::vector<std::int64_t> own(static_cast<std::size_t>(words_of_ranks_[rank]));
  growth_.communicator->reduce_scatter({histogram, words, DType::kI64},
                                       Buffer::of<std::int64_t>(own), ReduceOp::kSum,
                                       words_of_ranks_);
  std::copy(own.begin(), own.end(),
            histogram + static_cast<std::size_t>(first_column_) * shape_.words_per_column());
}

template <class Record>
void NodeExpander<Record>::share_split(Split& split) {
  if (growth_.communicator == nullptr) return;
  std::vector<Split> all(static_cast<std::size_t>(growth_.communicator->size()));
  const auto bytes = static_cast<std::int64_t>(sizeof(Split));
  growth_.communicator->all_gather({&split, bytes, DType::kU8},
                                   {all.data(), bytes * growth_.communicator->size(), DType::kU8});
  for (const Split& one : all)
    if (one.is_better_than(split)) split = one;
}

template class NodeExpander<NarrowRecord>;
template class NodeExpander<WideRecord>;

}  // namespace tutti::learn::tree
