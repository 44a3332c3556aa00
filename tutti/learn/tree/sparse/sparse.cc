#include "tutti/learn/tree/sparse/sparse.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "tutti/learn/base/hash.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/grow/grow_policy.h"
#include "tutti/learn/tree/grow/node_rules.h"
#include "tutti/learn/tree/grow/rank_exchange.h"
#include "tutti/learn/tree/grow/row_partition.h"
#include "tutti/learn/tree/sparse/sampled_search.h"
#include "tutti/learn/tree/sparse/slot_search.h"

namespace tutti::learn::tree {
namespace {

constexpr std::int64_t kParallelRows = 4096;     // of a node, from which all threads sum its rows
constexpr std::size_t kParallelSlots = 1 << 15;  // of a node, from which all threads search them
constexpr std::int64_t kRowsPerLookup = 16;  // marking a row is faster than a search by this factor

template <class Record>
class SparseWork {
 public:
  SparseWork(const SparseGrowth<Record>& growth, Threads* threads);
  SparseWork(const SparseWork&) = delete;  // members refer to each other
  SparseWork& operator=(const SparseWork&) = delete;

  ExpandEntry begin(std::vector<GrownNode>& nodes);
  std::vector<ExpandEntry> expand(std::vector<GrownNode>& nodes, ExpandEntry parent);
  void drop(ExpandEntry& open) { open.slot_sums.reset(); }
  std::vector<ExpandEntry> expand_level_wise(std::vector<GrownNode>&, ExpandEntry root) {
    return {std::move(root)};
  }
  void grow_subtree(std::vector<GrownNode>& nodes, ExpandEntry root) {
    grow_depth_first(*this, nodes, std::move(root));
  }

 private:
  std::span<const Record> rows_of(const GrownNode& node) const {
    return {growth_.records.data() + node.begin, static_cast<std::size_t>(node.size())};
  }
  NodeSums sums_of(const GrownNode& node) const;
  bool can_split(const GrownNode& node) const {
    return may_split(node, growth_.options, growth_.search.rules());
  }
  bool samples_columns() const { return growth_.options.columns_per_node > 0; }

  void mark_rows(const Split& split);
  std::int64_t partition(const GrownNode& node);
  void sum(std::span<const Record> rows);
  void sum_slots(const GrownNode& node, SlotSums& sums);
  void search_children(std::vector<GrownNode>& nodes, std::shared_ptr<SlotSums> parent,
                       std::span<ExpandEntry, 2> children);
  void search_all(GrownNode& node, const SlotSums& sums);
  void search_sampled(GrownNode& node);
  void keep_good(GrownNode& node) const;

  const SparseGrowth<Record>& growth_;
  Threads* threads_;
  RankExchange exchange_;
  std::size_t words_per_bin_;
  std::vector<char> is_allowed_;                         // per column; empty: all
  std::vector<std::unique_ptr<SlotAccumulator>> slots_;  // per thread, on first use
  std::vector<SlotSearch> searches_;                     // per thread
  std::vector<std::uint8_t> is_marked_;                  // per row; 0 between calls
  SampledSearch<Record> sampled_;
  SlotSums sampled_sums_;
};

template <class Record>
SparseWork<Record>::SparseWork(const SparseGrowth<Record>& growth, Threads* threads)
    : growth_(growth),
      threads_(threads),
      exchange_(growth.communicator, growth.search.shape(), growth.data, !samples_columns()),
      words_per_bin_(growth.search.shape().words_per_bin()),
      slots_(threads == nullptr ? 1 : static_cast<std::size_t>(threads->count())),
      searches_(slots_.size(), SlotSearch(growth.data, growth.search)),
      is_marked_(static_cast<std::size_t>(growth.data.rows())),
      sampled_(growth.data, growth.search, growth.options) {
  if (growth.options.columns.size() == static_cast<std::size_t>(growth.data.columns())) return;
  is_allowed_.resize(static_cast<std::size_t>(growth.data.columns()));
  for (const int column : growth.options.columns) is_allowed_[column] = 1;
}

template <class Record>
NodeSums SparseWork<Record>::sums_of(const GrownNode& node) const {
  NodeSums sums;
  const HistogramShape& shape = growth_.search.shape();
  if (shape.kind == Kind::kClasses) sums.classes.resize(static_cast<std::size_t>(shape.classes));
  add_to(sums, rows_of(node));
  exchange_.reduce(sums);
  return sums;
}

template <class Record>
ExpandEntry SparseWork<Record>::begin(std::vector<GrownNode>& nodes) {
  GrownNode& root = nodes.emplace_back();
  root.end = growth_.records.size;
  root.path = mix(growth_.options.seed);
  root.sums = sums_of(root);
  ExpandEntry open;
  if (!can_split(root)) return open;
  if (samples_columns()) {
    search_sampled(root);
    return open;
  }
  open.slot_sums = std::make_shared<SlotSums>();
  sum_slots(root, *open.slot_sums);
  search_all(root, *open.slot_sums);
  return open;
}

template <class Record>
std::vector<ExpandEntry> SparseWork<Record>::expand(std::vector<GrownNode>& nodes,
                                                    ExpandEntry parent) {
  const std::int64_t left_size = partition(nodes[parent.index]);
  const std::int32_t first = add_children(nodes, parent.index, left_size);
  nodes[first].sums = sums_of(nodes[first]);
  nodes[first + 1].sums = difference(nodes[parent.index].sums, nodes[first].sums);
  std::array<ExpandEntry, 2> children;
  children[0].index = first;
  children[1].index = first + 1;
  if (samples_columns()) {
    for (const ExpandEntry& child : children)
      if (can_split(nodes[child.index])) search_sampled(nodes[child.index]);
  } else {
    search_children(nodes, std::move(parent.slot_sums), children);
  }
  std::vector<ExpandEntry> open;
  for (ExpandEntry& child : children)
    if (nodes[child.index].split.exists()) open.push_back(std::move(child));
  return open;
}

// The list of the larger child is `parent` without the rows of the smaller one.
template <class Record>
void SparseWork<Record>::search_children(std::vector<GrownNode>& nodes,
                                         std::shared_ptr<SlotSums> parent,
                                         std::span<ExpandEntry, 2> children) {
  const bool left_is_smaller =
      nodes[children[0].index].sums.count < nodes[children[1].index].sums.count;
  ExpandEntry& small = children[left_is_smaller ? 0 : 1];
  ExpandEntry& large = children[left_is_smaller ? 1 : 0];
  const bool may_small = can_split(nodes[small.index]), may_large = can_split(nodes[large.index]);
  if (!may_small && !may_large) return;
  small.slot_sums = std::make_shared<SlotSums>();
  sum_slots(nodes[small.index], *small.slot_sums);
  if (may_large) {
    parent->subtract(*small.slot_sums, words_per_bin_);
    large.slot_sums = std::move(parent);
    search_all(nodes[large.index], *large.slot_sums);
  }
  if (may_small) search_all(nodes[small.index], *small.slot_sums);
}

// Marks the rows that do not go with the default bin.
template <class Record>
void SparseWork<Record>::mark_rows(const Split& split) {
  const auto [begin, end] = growth_.data.slots_of(split.column);
  const bool default_left = split.goes_left(growth_.data.default_bin(split.column));
  for (auto slot = begin; slot < end; ++slot)
    if (split.goes_left(growth_.data.bin_of(slot)) != default_left)
      for (const std::uint32_t row : growth_.data.rows_of(slot)) is_marked_[row] ^= 1;
}

// Keeps the order of the rows.
template <class Record>
std::int64_t SparseWork<Record>::partition(const GrownNode& node) {
  const Split& split = node.split;
  const auto [begin, end] = growth_.data.slots_of(split.column);
  std::int64_t marks = 0;
  for (auto slot = begin; slot < end; ++slot)
    marks += static_cast<std::int64_t>(growth_.data.rows_of(slot).size());
  Record* const rows = growth_.records.data() + node.begin;
  Record* const others = growth_.scratch.data() + node.begin;
  std::int64_t left = 0, right = 0;
  const auto part = [&](const auto& goes_left) {
    for (std::int64_t i = 0; i < node.size(); ++i) {
      const Record record = rows[i];
      const bool is_left = goes_left(record.row);
      rows[left] = record;
      others[right] = record;
      left += is_left ? 1 : 0;
      right += is_left ? 0 : 1;
    }
  };
  if (marks > node.size() * kRowsPerLookup) {
    part([&](std::uint32_t row) { return split.goes_left(growth_.data.at(row, split.column)); });
  } else {
    const bool default_left = split.goes_left(growth_.data.default_bin(split.column));
    mark_rows(split);
    part([&](std::uint32_t row) { return (is_marked_[row] != 0) != default_left; });
    mark_rows(split);
  }
  std::copy_n(others, right, rows + left);
  return left;
}

// Afterwards slots_[0] has the sums.
template <class Record>
void SparseWork<Record>::sum(std::span<const Record> rows) {
  const auto accumulator = [&](std::size_t slot) -> SlotAccumulator& {
    if (!slots_[slot])
      slots_[slot] = std::make_unique<SlotAccumulator>(growth_.data, growth_.search.shape());
    return *slots_[slot];
  };
  const auto parts = static_cast<std::int64_t>(slots_.size());
  if (parts == 1 || static_cast<std::int64_t>(rows.size()) < kParallelRows)
    return accumulator(0).add(rows);
  const auto bound = [parts](std::size_t size, std::int64_t part) {
    return size * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts);
  };
  threads_->run(parts, [&](std::int64_t part) {
    const std::size_t begin = bound(rows.size(), part);
    accumulator(static_cast<std::size_t>(part))
        .add(rows.subspan(begin, bound(rows.size(), part + 1) - begin));
  });
  threads_->run(parts, [&](std::int64_t part) {
    for (std::size_t other = 1; other < slots_.size(); ++other)
      slots_[0]->merge(*slots_[other], bound(growth_.data.slots(), part),
                       bound(growth_.data.slots(), part + 1));
  });
  slots_[0]->all_words();
}

template <class Record>
void SparseWork<Record>::sum_slots(const GrownNode& node, SlotSums& sums) {
  sum(rows_of(node));
  SparseBinnedData::SlotRange range = {0,
                                       static_cast<SparseBinnedData::Slot>(growth_.data.slots())};
  if (growth_.communicator != nullptr) {
    exchange_.reduce_slots(slots_[0]->all_words().data());
    range = exchange_.own_slots();
  }
  slots_[0]->take(range, is_allowed_, sums);
}

template <class Record>
void SparseWork<Record>::keep_good(GrownNode& node) const {
  keep_if_good(node, growth_.options, growth_.search, [&] {
    LabelRange range(growth_.search.rules());
    for (const Record& record : rows_of(node)) range.add(record);
    range.reduce(growth_.communicator);
    return range.has_different_labels();
  });
}

template <class Record>
void SparseWork<Record>::search_sampled(GrownNode& node) {
  if (growth_.communicator == nullptr && sampled_.is_faster_by_column(node.size())) {
    sampled_.search_columns(rows_of(node), node);
  } else {
    sum_slots(node, sampled_sums_);
    sampled_.search_list(sampled_sums_, node);
  }
  keep_good(node);
}

// Each thread searches a range of columns.
template <class Record>
void SparseWork<Record>::search_all(GrownNode& node, const SlotSums& sums) {
  const std::size_t size = sums.slots.size();
  const std::size_t parts = size < kParallelSlots ? 1 : searches_.size();
  const auto bound = [&](std::size_t part) {
    std::size_t at = size * part / parts;
    while (at > 0 && at < size &&
           growth_.data.column_of(sums.slots[at]) == growth_.data.column_of(sums.slots[at - 1]))
      ++at;
    return at;
  };
  std::vector<Split> best(parts);
  const auto search = [&](std::int64_t index) {
    const auto part = static_cast<std::size_t>(index);
    searches_[part].search(sums, {bound(part), bound(part + 1)}, node.sums, node.path, best[part]);
  };
  if (parts > 1)
    threads_->run(static_cast<std::int64_t>(parts), search);
  else
    search(0);
  for (const Split& split : best)
    if (split.is_better_than(node.split)) node.split = split;
  exchange_.choose_best(node.split);
  keep_good(node);
}

}  // namespace

template <class Record>
std::vector<GrownNode> grow_sparse(const SparseGrowth<Record>& growth, Threads& threads) {
  SparseWork<Record> work(growth, threads.count() > 1 ? &threads : nullptr);
  return grow_in_order(
      work, [&] { return SparseWork<Record>(growth, nullptr); }, growth.options.max_leaves,
      growth.communicator != nullptr, threads);
}
template std::vector<GrownNode> grow_sparse(const SparseGrowth<NarrowRecord>&, Threads&);
template std::vector<GrownNode> grow_sparse(const SparseGrowth<WideRecord>&, Threads&);

}  // namespace tutti::learn::tree
