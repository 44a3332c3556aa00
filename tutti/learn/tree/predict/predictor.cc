#include "tutti/learn/tree/predict/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/dense_rows.h"
#include "tutti/learn/tree/model/fourier_features.h"
#include "tutti/learn/tree/predict/sparse_rows.h"

namespace tutti::learn::tree {

// The part that does not depend on the type of the rows. Indices refer to packed nodes.
struct Predictor::Common {
  explicit Common(int columns) : used_columns(columns) {}

  struct PackedTree {
    std::int32_t root;
    int depth, output;
    bool is_wide;  // one value per output
  };
  std::vector<PackedTree> trees;
  std::vector<std::int32_t> index_in_tree;  // per packed node
  std::vector<double> values, base;         // of leaves
  double factor = 1;
  UsedColumns used_columns;
  double absent = 0;  // value of the entries that a sparse matrix does not store
  // Category sets, evaluated one node at a time.
  std::vector<Tree::CategorySet> category_sets;
  // Base learners other than trees.
  std::vector<FourierLearner> fourier_learners;
  std::vector<FourierFeatures> features;
};

template <class T>
struct Predictor::Packed {
  static constexpr std::uint32_t kMissingLeft = 1u << 31, kCategories = 1u << 30;
  static constexpr std::uint32_t kColumn = kCategories - 1;
  // A leaf points to itself for any value, so paths of different lengths can be traversed together.
  struct Node {
    T threshold;
    std::uint32_t column;  // and two flags
    std::int32_t left;     // the right child is the next node
    std::int32_t extra;    // leaf: index of its values; categorical: index of its set
  };
  std::vector<Node> nodes;
};

namespace {

constexpr std::size_t kWalks = 16;

// Order in which the nodes are packed: siblings are adjacent, and the nodes of a path are mostly close to each other.
std::vector<std::int32_t> packing_order(const Tree& tree) {
  std::vector<std::int32_t> order = {0}, open = {0};
  while (!open.empty()) {
    const Node& node = tree.nodes[open.back()];
    open.pop_back();
    if (node.is_leaf()) continue;
    order.insert(order.end(), {node.left, node.right});
    open.insert(open.end(), {node.right, node.left});
  }
  return order;
}

// Largest f32 number up to `value`: f32 values are compared with it as with `value` itself.
float single_threshold(double value) {
  const auto near = static_cast<float>(value);
  return static_cast<double>(near) > value
             ? std::nextafter(near, -std::numeric_limits<float>::infinity())
             : near;
}

bool is_left_category(const Tree::CategorySet& set, double value, bool missing_left) {
  if (std::isnan(value)) return missing_left;
  const auto code = static_cast<std::int64_t>(std::clamp(value, -1.0, 0x1p53));
  if (std::binary_search(set.left.begin(), set.left.end(), code)) return true;
  return missing_left && !std::binary_search(set.known.begin(), set.known.end(), code);
}

// Advances every walk by one node; returns false when all are at leaves. `row_of(i)` is the row of walk i.
template <bool kHasCategories, class Packed, class RowOf>
[[gnu::always_inline]] inline bool step(const Packed& packed,
                                        const std::vector<Tree::CategorySet>& sets,
                                        std::span<std::int32_t> at, const RowOf& row_of) {
  const auto* nodes = packed.nodes.data();
  std::int32_t moves = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto node = nodes[at[i]];
    const auto value = row_of(i)[node.column & Packed::kColumn];
    const bool missing_left = (node.column & Packed::kMissingLeft) != 0;
    bool is_left = (value <= node.threshold) | (missing_left & (value != value));
    if constexpr (kHasCategories)
      if ((node.column & Packed::kCategories) != 0)
        is_left = is_left_category(sets[node.extra], static_cast<double>(value), missing_left);
    const std::int32_t next = node.left + (is_left ? 0 : 1);
    moves |= next ^ at[i];
    at[i] = next;
  }
  return moves != 0;
}

// Descends to the leaves; `depth` is that of the deepest tree.
template <class Packed, class RowOf>
void walk(const Packed& packed, const std::vector<Tree::CategorySet>& sets, int depth,
          std::span<std::int32_t> at, const RowOf& row_of) {
  if (!sets.empty()) {
    while (step<true>(packed, sets, at, row_of)) {
    }
    return;
  }
  for (int level = 0; level < depth && step<false>(packed, sets, at, row_of); ++level) {
  }
}

}  // namespace

Predictor::Predictor(const Model& model)
    : columns_(model.columns),
      outputs_(model.outputs),
      common_(std::make_unique<Common>(model.columns)) {
  model.check();
  const bool has_single = model.fourier_learners.empty();
  double_ = std::make_unique<Packed<double>>();
  if (has_single) single_ = std::make_unique<Packed<float>>();
  common_->base = model.base;
  if (model.absent_is_missing) common_->absent = std::numeric_limits<double>::quiet_NaN();
  common_->fourier_learners = model.fourier_learners;
  for (const FourierLearner& learner : model.fourier_learners)
    common_->features.emplace_back(model.fourier_columns, learner);
  if (model.averages && !model.trees.empty())
    common_->factor = 1.0 / static_cast<double>(model.trees.size());
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const Tree& tree = model.trees[t];
    const auto root = static_cast<std::int32_t>(double_->nodes.size());
    const auto order = packing_order(tree);
    std::vector<std::int32_t> packed_at(tree.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      packed_at[order[i]] = root + static_cast<std::int32_t>(i);
    const auto first_set = static_cast<std::int32_t>(common_->category_sets.size());
    common_->category_sets.insert(common_->category_sets.end(), tree.category_sets.begin(),
                                  tree.category_sets.end());
    common_->trees.push_back({root, tree.depth(), model.tree_output[t], tree.outputs > 1});
    for (const std::int32_t from : order) {
      const Node& node = tree.nodes[from];
      common_->index_in_tree.push_back(from);
      const bool is_leaf = node.is_leaf();
      std::uint32_t column = is_leaf ? 0 : static_cast<std::uint32_t>(node.column);
      if (columns_ > 0) common_->used_columns.add(column);
      if (is_leaf || node.missing_left) column |= Packed<double>::kMissingLeft;
      if (!is_leaf && node.categories >= 0) column |= Packed<double>::kCategories;
      const double threshold = is_leaf ? std::numeric_limits<double>::infinity() : node.threshold;
      const std::int32_t left = packed_at[is_leaf ? from : node.left];
      const auto extra =
          is_leaf ? static_cast<std::int32_t>(common_->values.size()) : first_set + node.categories;
      if (is_leaf)
        common_->values.insert(common_->values.end(), tree.value(from).begin(),
                               tree.value(from).end());
      double_->nodes.push_back({threshold, column, left, extra});
      if (has_single) single_->nodes.push_back({single_threshold(threshold), column, left, extra});
    }
  }
}

Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

template <>
const Predictor::Packed<float>& Predictor::packed<float>() const {
  return *single_;
}
template <>
const Predictor::Packed<double>& Predictor::packed<double>() const {
  return *double_;
}

namespace {

template <class Common, class PackedTree>
void add_values(const Common& common, const PackedTree& tree, std::int32_t value_at, double* out,
                std::size_t outputs) {
  const double* values = common.values.data() + value_at;
  if (!tree.is_wide) {
    out[tree.output] += values[0] * common.factor;
    return;
  }
  for (std::size_t k = 0; k < outputs; ++k) out[k] += values[k] * common.factor;
}

}  // namespace

// One row, several trees in parallel.
template <class T>
void Predictor::predict_one(std::span<const T> row, std::span<double> out) const {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (!single_) {
      const std::vector<double> wide(row.begin(), row.end());
      return predict_one<double>(wide, out);
    }
  }
  const auto& nodes = packed<T>();
  std::copy(common_->base.begin(), common_->base.end(), out.begin());
  for (std::size_t first = 0; first < common_->trees.size(); first += kWalks) {
    const std::size_t size = std::min(kWalks, common_->trees.size() - first);
    std::array<std::int32_t, kWalks> at;
    int depth = 0;
    for (std::size_t i = 0; i < size; ++i) {
      at[i] = common_->trees[first + i].root;
      depth = std::max(depth, common_->trees[first + i].depth);
    }
    walk(nodes, common_->category_sets, depth, {at.data(), size},
         [&](std::size_t) { return row.data(); });
    for (std::size_t i = 0; i < size; ++i)
      add_values(*common_, common_->trees[first + i], nodes.nodes[at[i]].extra, out.data(),
                 static_cast<std::size_t>(outputs_));
  }
  add_fourier_features(row.data(), out.data());
}

template <class T>
void Predictor::add_fourier_features(const T* row, double* out) const {
  for (std::size_t i = 0; i < common_->fourier_learners.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < common_->features[i].size(); ++k)
      sum += common_->fourier_learners[i].coefficients[k] * common_->features[i].value(row, k);
    out[common_->fourier_learners[i].output] += sum;
  }
}

void Predictor::predict_row(std::span<const float> row, std::span<double> out) const {
  predict_one(row, out);
}
void Predictor::predict_row(std::span<const double> row, std::span<double> out) const {
  predict_one(row, out);
}

// Rows that stay in the cache together with the current tree.
inline std::int64_t rows_of_block(int columns) {
  return std::clamp<std::int64_t>((1 << 17) / std::max(1, columns), 16, 4096);
}

template <class T, class Job>
void Predictor::for_blocks(const Matrix& matrix, Threads& threads, const Job& job) const {
  if (matrix.is_sparse()) return for_sparse_blocks<T>(matrix, threads, job);
  threads.for_range(
      matrix.rows, rows_of_block(columns_), [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> buffer;
        std::int64_t stride = 0;
        const T* rows = dense_rows(matrix, begin, end, buffer, stride);
        walk_trees<T>(
            begin, end, [&](std::int64_t row) { return rows + (row - begin) * stride; }, job);
      });
}

template <class T, class Job>
void Predictor::for_sparse_blocks(const Matrix& matrix, Threads& threads, const Job& job) const {
  constexpr std::int64_t kBlocks = 64;  // per task, which share one array
  const std::int64_t block = std::min(rows_of_block(common_->used_columns.count()),
                                      std::max<std::int64_t>(1, matrix.rows));
  threads.for_range(matrix.rows, kBlocks * block, [&](std::int64_t first, std::int64_t last) {
    SparseRows<T> rows(matrix, common_->used_columns, block, static_cast<T>(common_->absent));
    for (std::int64_t begin = first; begin < last; begin += block) {
      const std::int64_t end = std::min(last, begin + block);
      rows.move_to(begin, end);
      walk_trees<T>(begin, end, [&](std::int64_t row) { return rows.row(row); }, job);
    }
  });
}

// Calls job(row, tree, leaves) for up to kWalks rows from `row` on.
template <class T, class RowAt, class Job>
void Predictor::walk_trees(std::int64_t begin, std::int64_t end, const RowAt& row_at,
                           const Job& job) const {
  const auto& nodes = packed<T>();
  std::array<std::int32_t, kWalks> at;
  for (std::size_t t = 0; t < common_->trees.size(); ++t) {
    const auto& tree = common_->trees[t];
    for (std::int64_t row = begin; row < end; row += kWalks) {
      const auto size = static_cast<std::size_t>(std::min<std::int64_t>(kWalks, end - row));
      at.fill(tree.root);
      walk(nodes, common_->category_sets, tree.depth, {at.data(), size},
           [&](std::size_t i) { return row_at(row + static_cast<std::int64_t>(i)); });
      job(row, t, std::span<const std::int32_t>(at.data(), size));
    }
  }
}

template <class T>
void Predictor::predict_as(const Matrix& matrix, std::span<double> out, Threads& threads) const {
  const auto outputs = static_cast<std::size_t>(outputs_);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = common_->base[i % outputs];
  const auto& nodes = packed<T>().nodes;
  for_blocks<T>(matrix, threads,
                [&](std::int64_t row, std::size_t t, std::span<const std::int32_t> at) {
                  for (std::size_t i = 0; i < at.size(); ++i)
                    add_values(*common_, common_->trees[t], nodes[at[i]].extra,
                               out.data() + (static_cast<std::size_t>(row) + i) * outputs, outputs);
                });
  if (common_->fourier_learners.empty()) return;
  const std::int64_t block = std::min<std::int64_t>(512, rows_of_block(columns_));
  threads.for_range(matrix.rows, block, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> buffer;
    std::int64_t row_stride = 0;
    const T* rows =
        dense_rows(matrix, begin, end, buffer, row_stride, static_cast<T>(common_->absent));
    for (std::int64_t row = begin; row < end; ++row)
      add_fourier_features(rows + (row - begin) * row_stride,
                           out.data() + static_cast<std::size_t>(row) * outputs);
  });
}

template <class T>
void Predictor::leaves_as(const Matrix& matrix, std::span<std::int32_t> out,
                          Threads& threads) const {
  const std::size_t trees = common_->trees.size();
  for_blocks<T>(
      matrix, threads, [&](std::int64_t row, std::size_t t, std::span<const std::int32_t> at) {
        for (std::size_t i = 0; i < at.size(); ++i)
          out[(static_cast<std::size_t>(row) + i) * trees + t] = common_->index_in_tree[at[i]];
      });
}

namespace {

Matrix checked(const Matrix& matrix, int columns, Threads& threads) {
  if (matrix.columns != columns)
    throw ConfigError("DDL-9-21", fmt::format("the data has {} columns, the model has {}.",
                                              matrix.columns, columns));
  return matrix.storage == Storage::kCsc ? to_storage(matrix, Storage::kCsr, threads) : matrix;
}

}  // namespace

void Predictor::predict(const Matrix& matrix, std::span<double> out, Threads& threads) const {
  const Matrix rows = checked(matrix, columns_, threads);
  if (rows.dtype == DType::kF32 && single_)
    predict_as<float>(rows, out, threads);
  else
    predict_as<double>(rows, out, threads);
}

void Predictor::leaves(const Matrix& matrix, std::span<std::int32_t> out, Threads& threads) const {
  const Matrix rows = checked(matrix, columns_, threads);
  if (rows.dtype == DType::kF32 && single_)
    leaves_as<float>(rows, out, threads);
  else
    leaves_as<double>(rows, out, threads);
}

std::vector<double> predict_raw(const Model& model, const Matrix& matrix, Threads& threads) {
  std::vector<double> out(static_cast<std::size_t>(matrix.rows) *
                          static_cast<std::size_t>(model.outputs));
  Predictor(model).predict(matrix, out, threads);
  return out;
}

}  // namespace tutti::learn::tree
