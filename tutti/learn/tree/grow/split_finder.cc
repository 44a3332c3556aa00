#include "tutti/learn/tree/grow/split_finder.h"

#include <algorithm>
#include <cstring>

#include "tutti/learn/tree/grow/column_draw.h"
#include "tutti/learn/tree/grow/node_rules.h"

// For each node one of three ways is used:
//
// - histograms: the usual case. All nodes of a call are searched together; a task covers a few columns of one node,
//   each thread keeps its best split, and the best of all threads is selected. With ranks each rank searches its
//   columns, and the best split of all ranks is selected.
// - records: nodes with few rows sum the rows of each column directly, because most of the 256 bins would be empty.
// - sampled columns: random forests draw columns in batches and sum only these, until enough columns that are not
//   constant have been tried.
//
// Ties are resolved by column, so the result does not depend on the number of threads or ranks.
namespace tutti::learn::tree {

template <class Record>
SplitFinder<Record>::SplitFinder(const NodeContext<Record>& context,
                                 HistogramBuilder<Record>& histograms, const RankExchange& exchange)
    : context_(context),
      histograms_(histograms),
      exchange_(exchange),
      zeros_(histograms.shape().words_per_column()) {}

template <class Record>
void SplitFinder<Record>::drop(ExpandEntry& open) {
  histograms_.give(open.histogram);
  open.histogram = nullptr;
}

template <class Record>
void SplitFinder<Record>::find(std::vector<GrownNode>& nodes, std::span<ExpandEntry> open) {
  std::vector<ExpandEntry> by_histogram;
  for (ExpandEntry& one : open) {
    GrownNode& node = nodes[one.index];
    if (!may_split(node, context_.growth.options, context_.growth.search.rules()) ||
        (context_.uses_records(node) && !context_.samples_columns()))
      drop(one);
    if (!may_split(node, context_.growth.options, context_.growth.search.rules())) continue;
    if (context_.samples_columns())
      search_sampled(node);
    else if (one.histogram == nullptr)
      search_records(node);
    else
      by_histogram.push_back(one);
  }
  if (!by_histogram.empty()) search_histograms(nodes, by_histogram);
  for (ExpandEntry& one : open) {
    GrownNode& node = nodes[one.index];
    keep_if_good(node, context_.growth.options, context_.growth.search,
                 [&] { return has_different_labels(one.index, node); });
    if (!node.split.exists()) drop(one);
  }
}

template <class Record>
bool SplitFinder<Record>::has_different_labels(std::int32_t index, const GrownNode& node) const {
  LabelRange range(context_.growth.search.rules());
  if (context_.records_are_contiguous) {
    const Record* const records = context_.growth.records.data();
    for (std::int64_t i = node.begin; i < node.end; ++i) range.add(records[i]);
  } else {
    context_.visit_records(index, [&](const Record& record) { range.add(record); });
  }
  range.reduce(context_.growth.communicator);
  return range.has_different_labels();
}

template <class Record>
void SplitFinder<Record>::search_histograms(std::vector<GrownNode>& nodes,
                                            std::span<const ExpandEntry> open) {
  const auto& columns = context_.growth.options.columns;
  const auto per_node = static_cast<std::int64_t>(columns.size());
  std::vector<Split> best(context_.slots * open.size());
  constexpr std::int64_t kColumns = 4;  // per task
  const std::int64_t parts_per_node = parts_of(per_node, kColumns);
  context_.run(parts_per_node * static_cast<std::int64_t>(open.size()),
               [&](std::size_t slot, std::int64_t part) {
                 const auto which = static_cast<std::size_t>(part / parts_per_node);
                 const std::int64_t begin = part % parts_per_node * kColumns;
                 const GrownNode& node = nodes[open[which].index];
                 for (std::int64_t i = begin; i < std::min(per_node, begin + kColumns); ++i) {
                   const int column = columns[i];
                   if (!exchange_.owns(column)) continue;
                   context_.growth.search.try_histogram(
                       column,
                       open[which].histogram + static_cast<std::size_t>(column) *
                                                   histograms_.shape().words_per_column(),
                       node.sums, node.path, best[which * context_.slots + slot]);
                 }
               });
  for (std::size_t which = 0; which < open.size(); ++which) {
    Split& split = nodes[open[which].index].split;
    for (std::size_t slot = 0; slot < context_.slots; ++slot)
      if (best[which * context_.slots + slot].is_better_than(split))
        split = best[which * context_.slots + slot];
    exchange_.choose_best(split);
  }
}

template <class Record>
void SplitFinder<Record>::search_records(GrownNode& node) {
  const std::span<const Record> rows(context_.growth.records.data() + node.begin,
                                     static_cast<std::size_t>(node.size()));
  RecordSums reader(histograms_.shape(), zeros_.data());
  ColumnSums sums;
  for (const int column : context_.growth.options.columns) {
    reader.read(context_.data, column, rows, sums);
    context_.growth.search.try_column(column, sums, node.sums, node.path, node.split);
    reader.clear();
  }
}

template <class Record>
void SplitFinder<Record>::try_sampled(GrownNode& node, std::span<const int> columns,
                                      std::uint64_t* histogram, int& tried) {
  const std::span<const Record> rows(context_.growth.records.data() + node.begin,
                                     static_cast<std::size_t>(node.size()));
  const bool by_records = context_.uses_records(node);
  const std::size_t words = histograms_.shape().words_per_column();
  RecordSums reader(histograms_.shape(), zeros_.data());
  ColumnSums sums;
  if (!by_records) {
    for (const int column : columns)
      std::memset(histogram + static_cast<std::size_t>(column) * words, 0,
                  words * sizeof(std::uint64_t));
    add_rows(context_.data, columns, rows, histograms_.shape(), histogram);
    for (const int column : columns) exchange_.reduce_column(histograms_.column(histogram, column));
  }
  for (const int column : columns) {
    if (by_records)
      reader.read(context_.data, column, rows, sums);
    else
      read_histogram(histograms_.shape(), histogram + static_cast<std::size_t>(column) * words,
                     context_.growth.search.bins(column).count(), sums);
    tried += sums.can_be_split() ? 1 : 0;
    context_.growth.search.try_column(column, sums, node.sums, node.path, node.split);
    reader.clear();
  }
}

template <class Record>
void SplitFinder<Record>::search_sampled(GrownNode& node) {
  std::uint64_t* histogram = context_.uses_records(node) ? nullptr : histograms_.take();
  sample_columns(node, context_.growth.options, [&](std::span<const int> columns, int& tried) {
    try_sampled(node, columns, histogram, tried);
  });
  histograms_.give(histogram);
}

template class SplitFinder<NarrowRecord>;
template class SplitFinder<WideRecord>;

}  // namespace tutti::learn::tree
