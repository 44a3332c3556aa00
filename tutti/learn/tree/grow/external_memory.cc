#include "tutti/learn/tree/grow/external_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "tutti/comm/communicator.h"
#include "tutti/core/error.h"
#include "tutti/learn/tree/bins/residency.h"
#include "tutti/learn/tree/grow/column_draw.h"
#include "tutti/learn/tree/grow/grow_policy.h"
#include "tutti/learn/tree/grow/grower.h"
#include "tutti/learn/tree/grow/node_rules.h"
#include "tutti/learn/tree/grow/row_partition.h"
#include "tutti/os/heap.h"

namespace tutti::learn::tree {
namespace {

constexpr std::int64_t kLeastBlock = 4096, kGreatestBlock = 65536;  // rows

std::int64_t reduced(std::int64_t value, comm::Communicator* communicator, ReduceOp op) {
  if (communicator != nullptr) communicator->all_reduce({&value, 1, DType::kI64}, op);
  return value;
}

// Throws unless `have` is enough on every rank.
void require(std::int64_t have, std::int64_t needed, const char* what,
             comm::Communicator* communicator) {
  const std::int64_t left = reduced(have - needed, communicator, ReduceOp::kMin);
  if (left >= 0) return;
  throw ConfigError(
      "DDL-9-27",
      fmt::format("memory_limit leaves {} KiB, but {} needs {} KiB. Raise it by at "
                  "least {} KiB.",
                  std::max<std::int64_t>(0, have) / 1024, what, needed / 1024, -left / 1024 + 1));
}

// Memory budget of a growth.
struct Plan {
  std::int64_t block_rows = 0;     // read by one thread at a time
  std::int64_t histograms = 0;     // per pass
  std::int64_t gathered_rows = 0;  // in memory at the same time
};

template <class Record>
Plan make_plan(const ExternalMemoryGrowth<Record>& growth, std::int64_t threads) {
  const HistogramShape& shape = growth.search.shape();
  const auto histogram = static_cast<std::int64_t>(shape.words() * sizeof(std::uint64_t));
  // The current block, the next one, and two copies of the records.
  const std::int64_t block_row = 2 * growth.data.row_bytes() + 2 * std::int64_t{sizeof(Record)};
  // In memory, growth keeps about two histograms per 32,768 rows, and `kept` on the way down.
  const std::int64_t gathered_row =
      growth.data.row_bytes() + 2 * std::int64_t{sizeof(Record)} + 2 * histogram / 32768 + 16;
  const std::int64_t kept =
      (growth.options.max_leaves > 0 ? growth.options.max_leaves + threads + 2 * kSplitAhead
                                     : 24 * threads) *
      histogram;
  const std::int64_t needed = threads * kLeastBlock * block_row +
                              std::max(2 * threads * histogram, kept + kLeastBlock * gathered_row);
  require(growth.memory, needed, "growing a tree", growth.communicator);
  Plan plan;
  plan.block_rows =
      std::clamp(growth.memory / 8 / threads / block_row, kLeastBlock, kGreatestBlock);
  const std::int64_t rest = growth.memory - threads * plan.block_rows * block_row;
  const auto least = [&](std::int64_t own) {
    return reduced(own, growth.communicator, ReduceOp::kMin);
  };
  plan.histograms = least(std::max<std::int64_t>(2, rest / (threads * histogram)));
  plan.gathered_rows = least((rest - kept) / gathered_row);
  return plan;
}

template <class Record>
class StreamedGrower {
 public:
  StreamedGrower(const ExternalMemoryGrowth<Record>& growth, Threads& threads)
      : growth_(growth), threads_(threads), plan_(make_plan(growth, threads.count())) {}

  std::vector<GrownNode> grow() {
    nodes_.emplace_back().path = mix(growth_.options.seed);
    nodes_[0].end = growth_.data.rows();  // upper bound
    if (reduced(growth_.data.rows(), growth_.communicator, ReduceOp::kMax) <= plan_.gathered_rows)
      gather({0});
    else
      gather_all(split_large());
    if (growth_.options.max_leaves > 0) return take_best(nodes_, growth_.options.max_leaves);
    return std::move(nodes_);
  }

 private:
  using Take = std::function<void(std::size_t slot, std::int32_t node, std::span<Record> rows)>;

  // Splits nodes until the rest fits into memory. Returns the remaining nodes.
  std::vector<std::int32_t> split_large();
  // One pass: sums, histograms and, for regression, labels of these nodes.
  std::vector<std::vector<std::uint64_t>> sum(std::span<const std::int32_t> open,
                                              std::vector<LabelRange>& labels);
  void reduce_over_ranks(std::span<const std::int32_t> open,
                         std::vector<std::vector<std::uint64_t>>& histograms);
  void find_split(GrownNode& node, const std::vector<std::uint64_t>& histogram,
                  const LabelRange& labels) const;
  void gather_all(const std::vector<std::int32_t>& small);
  // One pass: gathers the rows of these nodes, which fit into memory together, and grows their subtrees.
  void gather(const std::vector<std::int32_t>& small);
  // Calls `take` with the rows of nodes without children.
  void pass(const Take& take);
  void descend(std::size_t slot, std::int32_t node, std::span<Record> rows, Record* other,
               const Take& take) const;
  std::vector<int> indices_of(std::span<const std::int32_t> chosen) const;

  const ExternalMemoryGrowth<Record>& growth_;
  Threads& threads_;
  Plan plan_;
  std::vector<GrownNode> nodes_;    // `size()` is the number of rows on this rank
  std::vector<std::int64_t> most_;  // per node: maximum number of rows over the ranks
};

template <class Record>
void StreamedGrower<Record>::pass(const Take& take) {
  os::trim_heap();  // returns memory of the previous pass, which is needed in other sizes
  const std::int64_t rows = growth_.data.rows(), block = plan_.block_rows;
  const std::int64_t ahead = block * threads_.count();
  std::atomic<std::int64_t> next = 0;
  threads_.run(threads_.count(), [&](std::int64_t slot) {
    Records<Record> records, scratch;
    records.resize(block);
    scratch.resize(block);
    for (std::int64_t begin; (begin = block * next++) < rows;) {
      const std::int64_t end = std::min(rows, begin + block);
      growth_.data.prefetch(std::min(rows, begin + ahead), std::min(rows, end + ahead));
      const std::int64_t size = growth_.records(begin, end, records.data());
      descend(static_cast<std::size_t>(slot), 0, {records.data(), static_cast<std::size_t>(size)},
              scratch.data(), take);
      growth_.data.release(begin, end);
    }
  });
}

// Rows alternate between two buffers, one level at a time.
template <class Record>
void StreamedGrower<Record>::descend(std::size_t slot, std::int32_t index, std::span<Record> rows,
                                     Record* other, const Take& take) const {
  if (rows.empty()) return;
  const GrownNode& node = nodes_[index];
  if (node.left < 0) return take(slot, index, rows);
  const auto left = static_cast<std::size_t>(partition_rows(
      rows.data(), static_cast<std::int64_t>(rows.size()), other,
      growth_.data.column(node.split.column), growth_.data.stride(), table_of(node.split)));
  descend(slot, node.left, {other, left}, rows.data(), take);
  descend(slot, node.right, {other + left, rows.size() - left}, rows.data() + left, take);
}

template <class Record>
std::vector<int> StreamedGrower<Record>::indices_of(std::span<const std::int32_t> chosen) const {
  std::vector<int> indices(nodes_.size(), -1);
  for (std::size_t i = 0; i < chosen.size(); ++i) indices[chosen[i]] = static_cast<int>(i);
  return indices;
}

template <class Record>
std::vector<std::vector<std::uint64_t>> StreamedGrower<Record>::sum(
    std::span<const std::int32_t> open, std::vector<LabelRange>& labels) {
  const HistogramShape& shape = growth_.search.shape();
  const auto slots = static_cast<std::size_t>(threads_.count());
  NodeSums none;
  if (shape.kind == Kind::kClasses) none.classes.resize(shape.classes);
  std::vector<std::vector<NodeSums>> sums(slots, std::vector<NodeSums>(open.size(), none));
  std::vector<std::vector<std::uint64_t>> histograms(slots * open.size());
  for (auto& histogram : histograms) histogram.resize(shape.words());
  const std::vector<int> indices = indices_of(open);
  const LabelRange no_label(growth_.search.rules());
  std::vector<std::vector<LabelRange>> ranges(slots, {open.size(), no_label});
  pass([&](std::size_t slot, std::int32_t node, std::span<Record> rows) {
    const int index = indices[node];
    if (index < 0) return;
    const auto at = static_cast<std::size_t>(index);
    if (growth_.options.is_regression)
      for (const Record& record : rows) ranges[slot][at].add(record);
    add_to(sums[slot][at], std::span<const Record>(rows));
    for (int tile = 0; tile < growth_.data.tiles(); ++tile)
      add_rows(growth_.data, tile, std::span<const Record>(rows), shape,
               histograms[slot * open.size() + at].data());
  });
  for (std::size_t i = 0; i < open.size(); ++i) {
    NodeSums& all = nodes_[open[i]].sums = none;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      add(all, sums[slot][i]);
      if (slot == 0) continue;
      const auto& from = histograms[slot * open.size() + i];
      for (std::size_t word = 0; word < from.size(); ++word) histograms[i][word] += from[word];
    }
  }
  labels = std::move(ranges[0]);
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (std::size_t slot = 1; slot < slots; ++slot) labels[i].add(ranges[slot][i]);
    labels[i].reduce(growth_.communicator);
  }
  histograms.resize(open.size());
  reduce_over_ranks(open, histograms);
  return histograms;
}

// Reduces over all ranks.
template <class Record>
void StreamedGrower<Record>::reduce_over_ranks(
    std::span<const std::int32_t> open, std::vector<std::vector<std::uint64_t>>& histograms) {
  std::vector<std::int64_t> numbers, rows;
  for (const std::int32_t index : open) {
    GrownNode& node = nodes_[index];
    node.begin = 0;
    node.end = node.sums.count;
    rows.push_back(node.sums.count);
    numbers.insert(numbers.end(), {node.sums.gradient, node.sums.hessian, node.sums.count});
    numbers.insert(numbers.end(), node.sums.classes.begin(), node.sums.classes.end());
  }
  if (growth_.communicator != nullptr) {
    growth_.communicator->all_reduce(Buffer::of<std::int64_t>(numbers));
    growth_.communicator->all_reduce(Buffer::of<std::int64_t>(rows), ReduceOp::kMax);
    for (auto& histogram : histograms)
      growth_.communicator->all_reduce(
          {histogram.data(), static_cast<std::int64_t>(histogram.size()), DType::kI64});
  }
  most_.resize(nodes_.size());
  auto from = numbers.begin();
  for (std::size_t i = 0; i < open.size(); ++i) {
    NodeSums& sums = nodes_[open[i]].sums;
    most_[open[i]] = rows[i];
    sums.gradient = *from++;
    sums.hessian = *from++;
    sums.count = *from++;
    for (std::int64_t& one : sums.classes) one = *from++;
  }
}

template <class Record>
void StreamedGrower<Record>::find_split(GrownNode& node,
                                        const std::vector<std::uint64_t>& histogram,
                                        const LabelRange& labels) const {
  const SplitSearch& search = growth_.search;
  ColumnSums sums;
  const auto try_columns = [&](std::span<const int> columns, int& tried) {
    for (const int column : columns) {
      read_histogram(
          search.shape(),
          histogram.data() + static_cast<std::size_t>(column) * search.shape().words_per_column(),
          search.bins(column).count(), sums);
      tried += sums.can_be_split() ? 1 : 0;
      search.try_column(column, sums, node.sums, node.path, node.split);
    }
  };
  int tried = 0;
  if (growth_.options.columns_per_node > 0)
    sample_columns(node, growth_.options, try_columns);
  else
    try_columns(growth_.options.columns, tried);
  keep_if_good(node, growth_.options, search, [&] { return labels.has_different_labels(); });
}

template <class Record>
std::vector<std::int32_t> StreamedGrower<Record>::split_large() {
  std::vector<std::int32_t> open = {0}, small;
  while (!open.empty()) {
    const auto size = std::min(open.size(), static_cast<std::size_t>(plan_.histograms));
    const std::vector<std::int32_t> batch(open.begin(),
                                          open.begin() + static_cast<std::ptrdiff_t>(size));
    open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(size));
    std::vector<LabelRange> labels;
    const auto histograms = sum(batch, labels);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto index = static_cast<std::size_t>(batch[i]);
      if (!may_split(nodes_[index], growth_.options, growth_.search.rules())) continue;
      if (most_[index] <= plan_.gathered_rows) {
        small.push_back(batch[i]);
        continue;
      }
      find_split(nodes_[index], histograms[i], labels[i]);
      if (!nodes_[index].split.exists()) continue;
      // The next pass sets the number of records of each child.
      const std::int32_t first = add_children(nodes_, batch[i], 0);
      open.insert(open.end(), {first, first + 1});
    }
  }
  return small;
}

template <class Record>
void StreamedGrower<Record>::gather_all(const std::vector<std::int32_t>& small) {
  std::vector<std::int32_t> batch;
  std::int64_t rows = 0;
  for (const std::int32_t index : small) {
    const std::int64_t size = most_[index];
    if (rows + size > plan_.gathered_rows) {
      gather(batch);
      batch.clear();
      rows = 0;
    }
    batch.push_back(index);
    rows += size;
  }
  if (!batch.empty()) gather(batch);
}

template <class Record>
void StreamedGrower<Record>::gather(const std::vector<std::int32_t>& small) {
  struct Gathered {
    BinnedData data;
    Records<Record> records;
    std::atomic<std::int64_t> size = 0;
  };
  std::vector<std::unique_ptr<Gathered>> all;
  for (const std::int32_t index : small) {
    const std::int64_t rows = nodes_[index].size();
    all.emplace_back(new Gathered{BinnedData(rows, growth_.data.columns()), {}});
    all.back()->records.resize(rows);
  }
  const std::vector<int> indices = indices_of(small);
  const auto stride = static_cast<std::size_t>(growth_.data.stride());
  pass([&](std::size_t, std::int32_t node, std::span<Record> rows) {
    const int index = indices[node];
    if (index < 0) return;
    Gathered& to = *all[index];
    const std::int64_t first = to.size.fetch_add(static_cast<std::int64_t>(rows.size()));
    for (int tile = 0; tile < growth_.data.tiles(); ++tile)
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::memcpy(to.data.tile(tile) + (static_cast<std::size_t>(first) + i) * stride,
                    growth_.data.tile(tile) + rows[i].row * stride, stride);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Record& record = to.records.data()[static_cast<std::size_t>(first) + i] = rows[i];
      record.row = static_cast<std::uint32_t>(static_cast<std::size_t>(first) + i);
    }
  });
  Records<Record> scratch;
  for (std::size_t i = 0; i < small.size(); ++i) {
    Gathered& from = *all[i];
    from.records.resize(from.size);
    scratch.resize(from.records.size);
    const GrownNode& node = nodes_[small[i]];
    auto subtree = tree::grow<Record>({from.data,
                                       growth_.search,
                                       growth_.options,
                                       from.records,
                                       scratch,
                                       growth_.communicator,
                                       {node.depth, node.path},
                                       false},
                                      threads_);
    attach(nodes_, static_cast<std::size_t>(small[i]), subtree);
    all[i].reset();
  }
}

}  // namespace

template <class Record>
std::vector<GrownNode> grow_external_memory(const ExternalMemoryGrowth<Record>& growth,
                                            Threads& threads) {
  auto nodes = StreamedGrower<Record>(growth, threads).grow();
  os::trim_heap();
  return nodes;
}
template std::vector<GrownNode> grow_external_memory(const ExternalMemoryGrowth<NarrowRecord>&,
                                                     Threads&);
template std::vector<GrownNode> grow_external_memory(const ExternalMemoryGrowth<WideRecord>&,
                                                     Threads&);

std::int64_t MemoryLimit::left() const {
  os::trim_heap();
  const std::int64_t left = bytes_ - resident_bytes();
  return left - std::max<std::int64_t>(0, left) / 8;
}

void MemoryLimit::check(std::int64_t needed, const char* what,
                        comm::Communicator* communicator) const {
  require(left(), needed, what, communicator);
}

BinnedRows find_and_bin(const Matrix& matrix, const BinOptions& options, const MemoryLimit& limit,
                        Threads& threads, comm::Communicator* communicator) {
  if (!limit.exists()) {
    Bins bins = find_bins(matrix, options, threads, communicator);
    if (suits_sparse_bins(matrix, communicator)) {
      SparseBinnedData sparse(matrix, bins, threads, communicator);
      return {std::move(bins), BinnedData(0, static_cast<int>(matrix.columns)), std::move(sparse)};
    }
    BinnedData data = bin(matrix, bins, threads);
    return {std::move(bins), std::move(data)};
  }
  const Matrix rows =
      matrix.storage == Storage::kCsc ? to_storage(matrix, Storage::kCsr, threads) : matrix;
  MappedRows(rows).release(0, rows.rows);
  // Values of the sample; each thread also sorts a column in two more arrays.
  const std::int64_t sampled = std::min(rows.rows, options.sample) * std::int64_t{sizeof(double)};
  limit.check(sampled * (rows.columns + 3 * threads.count()), "finding bins", communicator);
  BinOptions streamed = options;
  streamed.is_streamed = true;
  Bins bins = find_bins(rows, streamed, threads, communicator);
  const std::int64_t row_bytes = BinnedData(0, static_cast<int>(rows.columns)).row_bytes();
  const std::int64_t value_bytes =
      rows.is_sparse() ? rows.entries() / std::max<std::int64_t>(1, rows.rows) * 16
                       : rows.columns * static_cast<std::int64_t>(size_of(rows.dtype));
  const std::int64_t block_row = 2 * (row_bytes + value_bytes);
  limit.check(kLeastBlock * block_row, "binning", communicator);
  const std::int64_t block = std::clamp(limit.left() / 2 / block_row, kLeastBlock, kGreatestBlock);
  BinnedData data = bin_to_file(rows, bins, block, std::filesystem::temp_directory_path(), threads);
  return {std::move(bins), std::move(data)};
}

}  // namespace tutti::learn::tree
