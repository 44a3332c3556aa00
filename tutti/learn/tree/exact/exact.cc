#include "tutti/learn/tree/exact/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/radix.h"
#include "tutti/learn/tree/exact/exact_sweep.h"
#include "tutti/learn/tree/grow/column_draw.h"
#include "tutti/learn/tree/grow/grow_policy.h"
#include "tutti/learn/tree/grow/node_rules.h"

namespace tutti::learn::tree {
namespace {

// Below this number of rows, a comparison sort is faster than a radix sort.
constexpr std::size_t kFewEntries = 1500;

// Stored entries of the sparse rows of a node, grouped by column.
template <class Record>
struct EntriesByColumn {
  std::vector<std::uint32_t> ends;   // per column: end of its range in `entries`
  std::vector<std::uint32_t> sizes;  // per column; 0 for columns not in `columns`
  std::vector<int> columns;
  std::vector<Record> entries;
};

template <class Record>
class ExactWork {
 public:
  ExactWork(const ExactGrowth<Record>& growth, Threads* threads)
      : growth_(growth),
        shape_(growth.search.shape()),
        threads_(threads),
        buffers_(threads == nullptr ? 1 : static_cast<std::size_t>(threads->count())) {
    if (!growth.data.is_sparse()) return;
    const auto columns = static_cast<std::size_t>(growth.data.columns());
    by_column_.ends.resize(columns);
    by_column_.sizes.resize(columns);
    is_allowed_.resize(columns);
    for (const int column : growth.options.columns) is_allowed_[column] = 1;
  }

  ExpandEntry begin(std::vector<GrownNode>& nodes) {
    GrownNode& root = nodes.emplace_back();
    root.end = growth_.records.size;
    root.path = mix(growth_.options.seed);
    root.sums = no_sums();
    add_to(root.sums, rows_of(root));
    find_split(root);
    return {0, nullptr};
  }

  std::vector<ExpandEntry> expand(std::vector<GrownNode>& nodes, ExpandEntry parent) {
    const std::int64_t left_size = partition(nodes[parent.index]);
    const std::int32_t first = add_children(nodes, parent.index, left_size);
    GrownNode& left = nodes[first];
    left.sums = no_sums();
    add_to(left.sums, rows_of(left));
    nodes[first + 1].sums = difference(nodes[parent.index].sums, left.sums);
    std::vector<ExpandEntry> open;
    for (const std::int32_t child : {first, first + 1}) {
      find_split(nodes[child]);
      if (nodes[child].split.exists()) open.push_back({child, nullptr});
    }
    return open;
  }

  void drop(ExpandEntry&) {}
  std::vector<ExpandEntry> expand_level_wise(std::vector<GrownNode>&, ExpandEntry root) {
    return {root};
  }
  void grow_subtree(std::vector<GrownNode>& nodes, ExpandEntry root) {
    grow_depth_first(*this, nodes, root);
  }

 private:
  struct Buffers {
    std::vector<Record> entries, scratch;
  };

  std::span<const Record> rows_of(const GrownNode& node) const {
    return {growth_.records.data() + node.begin, static_cast<std::size_t>(node.size())};
  }
  NodeSums no_sums() const {
    NodeSums sums;
    if (shape_.kind == Kind::kClasses) sums.classes.resize(shape_.classes);
    return sums;
  }
  std::int64_t partition(const GrownNode& node);
  void group_by_column(const GrownNode& node);
  SortedColumn<Record> sort_column(const GrownNode& node, int column, Buffers& buffers) const;
  void try_column(const GrownNode& node, const SortedColumn<Record>& column, Split& best) const;
  void try_columns(GrownNode& node, std::span<const int> columns);
  void find_split(GrownNode& node);

  const ExactGrowth<Record>& growth_;
  const HistogramShape& shape_;
  Threads* threads_;
  std::vector<Buffers> buffers_;
  EntriesByColumn<Record> by_column_;
  std::vector<char> is_allowed_;
};

// Keeps the order of the rows, so columns are read in ascending order.
template <class Record>
std::int64_t ExactWork<Record>::partition(const GrownNode& node) {
  const Split& split = node.split;
  const bool missing_left = split.goes_left(kMissingBin);
  Record* const rows = growth_.records.data() + node.begin;
  Record* const others = growth_.scratch.data() + node.begin;
  std::int64_t left = 0, right = 0;
  for (std::int64_t i = 0; i < node.size(); ++i) {
    const Record record = rows[i];
    const std::uint32_t code = growth_.data.code(record.row, split.column);
    const bool is_left =
        code == ExactData::kMissing ? missing_left : code <= static_cast<std::uint32_t>(split.bin);
    rows[left] = record;
    others[right] = record;
    left += is_left ? 1 : 0;
    right += is_left ? 0 : 1;
  }
  std::copy_n(others, right, rows + left);
  return left;
}

template <class Record>
void ExactWork<Record>::group_by_column(const GrownNode& node) {
  for (const int column : by_column_.columns) by_column_.sizes[column] = 0;
  by_column_.columns.clear();
  for (const Record& record : rows_of(node))
    for (const ExactData::Entry& entry : growth_.data.row(record.row)) {
      const auto column = static_cast<std::size_t>(entry.column);
      if (is_allowed_[column] != 0 && by_column_.sizes[column]++ == 0)
        by_column_.columns.push_back(entry.column);
    }
  std::uint32_t next = 0;
  for (const int column : by_column_.columns) {
    by_column_.ends[column] = next;
    next += by_column_.sizes[column];
  }
  by_column_.entries.resize(next);
  for (const Record& record : rows_of(node))
    for (const ExactData::Entry& entry : growth_.data.row(record.row)) {
      const auto column = static_cast<std::size_t>(entry.column);
      if (is_allowed_[column] == 0) continue;
      Record& to = by_column_.entries[by_column_.ends[column]++] = record;
      to.row = entry.code;
    }
}

template <class Record>
SortedColumn<Record> ExactWork<Record>::sort_column(const GrownNode& node, int column,
                                                    Buffers& buffers) const {
  SortedColumn<Record> sorted;
  sorted.column = column;
  sorted.missing = no_sums();
  auto& entries = buffers.entries;
  entries.clear();
  const auto add = [&](const Record& record) {
    if (record.row == ExactData::kMissing)
      add_to(sorted.missing, std::span<const Record>(&record, 1));
    else
      entries.push_back(record);
  };
  if (growth_.data.is_sparse()) {
    const auto at = static_cast<std::size_t>(column);
    const std::uint32_t size = by_column_.sizes[at], begin = by_column_.ends[at] - size;
    for (std::uint32_t i = begin; i < begin + size; ++i) add(by_column_.entries[i]);
    sorted.zero = growth_.data.zero(column);
    sorted.zeros = difference(node.sums, sorted.missing);
    NodeSums held = no_sums();
    add_to(held, std::span<const Record>(entries));
    sorted.zeros = difference(sorted.zeros, held);
  } else {
    const std::uint32_t* codes = growth_.data.column(column);
    for (Record record : rows_of(node)) {
      record.row = codes[record.row];
      add(record);
    }
  }
  if (entries.size() < kFewEntries)
    std::sort(entries.begin(), entries.end(),
              [](const Record& a, const Record& b) { return a.row < b.row; });
  else
    radix_sort(entries, buffers.scratch, [](const Record& record) { return record.row; });
  sorted.entries = entries;
  return sorted;
}

template <class Record>
void ExactWork<Record>::try_column(const GrownNode& node, const SortedColumn<Record>& column,
                                   Split& best) const {
  const auto try_as = [&]<class Side>(const Side*) {
    try_sorted<Side>(growth_.data, growth_.search, column, node.sums, node.path, best);
  };
  if (growth_.search.counts_classes())
    try_as(static_cast<const ClassesSide*>(nullptr));
  else
    try_as(static_cast<const SquaresSide*>(nullptr));
}

template <class Record>
void ExactWork<Record>::try_columns(GrownNode& node, std::span<const int> columns) {
  std::vector<Split> best(buffers_.size());
  std::atomic<std::size_t> next = 0;
  const auto try_some = [&](std::int64_t slot) {
    for (std::size_t i; (i = next++) < columns.size();)
      try_column(node, sort_column(node, columns[i], buffers_[slot]), best[slot]);
  };
  if (threads_ != nullptr)
    threads_->run(static_cast<std::int64_t>(buffers_.size()), try_some);
  else
    try_some(0);
  for (const Split& split : best)
    if (split.is_better_than(node.split)) node.split = split;
}

template <class Record>
void ExactWork<Record>::find_split(GrownNode& node) {
  const GrowOptions& options = growth_.options;
  if (!may_split(node, options, growth_.search.rules())) return;
  if (growth_.data.is_sparse()) group_by_column(node);
  if (options.columns_per_node > 0)
    sample_columns(node, options, [&](std::span<const int> columns, int& tried) {
      for (const int column : columns) {
        const SortedColumn<Record> sorted = sort_column(node, column, buffers_[0]);
        tried += sorted.can_be_split() ? 1 : 0;
        try_column(node, sorted, node.split);
      }
    });
  else
    try_columns(node, growth_.data.is_sparse() ? std::span<const int>(by_column_.columns)
                                               : std::span<const int>(options.columns));
  keep_if_good(node, options, growth_.search, [&] {
    LabelRange range(growth_.search.rules());
    for (const Record& record : rows_of(node)) range.add(record);
    return range.has_different_labels();
  });
}

}  // namespace

template <class Record>
std::vector<GrownNode> grow_exact(const ExactGrowth<Record>& growth, Threads& threads) {
  ExactWork<Record> work(growth, threads.count() > 1 ? &threads : nullptr);
  return grow_in_order(
      work, [&] { return ExactWork<Record>(growth, nullptr); }, growth.options.max_leaves, false,
      threads);
}
template std::vector<GrownNode> grow_exact(const ExactGrowth<NarrowRecord>&, Threads&);
template std::vector<GrownNode> grow_exact(const ExactGrowth<WideRecord>&, Threads&);

void check_exact(const BinOptions& bins, std::int64_t memory_limit,
                 const comm::Communicator* communicator) {
  const char* const why = !bins.categorical.empty() ? "categorical columns"
                          : memory_limit > 0        ? "a memory limit"
                          : communicator != nullptr ? "ranks"
                                                    : nullptr;
  if (why != nullptr)
    throw ConfigError(
        "DDL-9-28",
        fmt::format("Exact splits do not support {}. Use histograms (use_histograms=True).", why));
}

}  // namespace tutti::learn::tree
