// Histograms of nodes: memory pool and multi-threaded accumulation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/grow/node_context.h"
#include "tutti/learn/tree/grow/rank_exchange.h"
#include "tutti/learn/tree/histogram/histogram_pool.h"

namespace tutti::learn::tree {

template <class Record>
class HistogramBuilder {
 public:
  explicit HistogramBuilder(const NodeContext<Record>& context);

  std::uint64_t* take() { return pool_.take(); }
  void give(std::uint64_t* histogram) { pool_.give(histogram); }
  std::size_t words() const { return pool_.words(); }
  const HistogramShape& shape() const { return shape_; }
  std::uint64_t* column(std::uint64_t* histogram, int column) const {
    return histogram + static_cast<std::size_t>(column) * shape_.words_per_column();
  }
  bool has_all_columns() const { return has_all_columns_; }

  // Returns one cleared histogram per participating thread, the first being `target`.
  std::vector<std::uint64_t*> slot_histograms(std::uint64_t* target, std::int64_t parts);
  // Adds all histograms to the first one and returns the others to the pool.
  void merge(std::span<std::uint64_t* const> histograms);
  void add_rows_of(std::span<const Record> rows, std::uint64_t* histogram,
                   Prefetcher* prefetcher = nullptr);
  void subtract(std::uint64_t* from, const std::uint64_t* what) const;
  // Computes the sums and, unless it is null, the histogram of all rows of all ranks.
  void sum_root(GrownNode& root, std::uint64_t* histogram, const RankExchange& exchange);

 private:
  const NodeContext<Record>& context_;
  const HistogramShape& shape_;
  HistogramPool pool_;
  bool has_all_columns_;
};

}  // namespace tutti::learn::tree
