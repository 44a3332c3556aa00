// Growth on sparse binned data: the trees are those of dense data with the same values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <span>

#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/learn/base/hash.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/sparse_binned_data.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/model/test_data.h"
#include "tutti/learn/tree/sparse/sampled_search.h"

namespace tutti::learn::tree {
namespace {

// Counts in many columns, with frequencies like those of words. Among the columns are one without entries, one with a
// single entry, one with an entry in every row, two equal ones, one with negative values and one with missing values.
struct Words {
  std::int64_t rows, columns;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> indices;
  std::vector<double> values, labels, weights;
  Matrix matrix;

  Words(std::int64_t row_count, std::int64_t column_count, std::size_t per_row, unsigned seed = 1)
      : rows(row_count), columns(column_count) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform;
    const auto last = static_cast<std::int32_t>(columns) - 1;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::set<std::int32_t> chosen = {last};
      if (row == 7) chosen.insert(last - 1);
      while (chosen.size() < per_row)
        chosen.insert(static_cast<std::int32_t>(static_cast<double>(columns - 8) *
                                                std::pow(uniform(random), 3)));
      if (chosen.contains(0)) chosen.insert({last - 3, last - 4});
      double signal = uniform(random);
      for (const std::int32_t column : chosen) {
        double value = 1 + static_cast<double>(random() % 4 == 0 ? random() % 5 : 0);
        if (column == 1 && random() % 2 == 0) value = -value;
        if (column == 2 && random() % 4 == 0) value = std::numeric_limits<double>::quiet_NaN();
        if (column == last - 3) value = values.back();
        if (column == last) value = static_cast<double>(random() % 40) / 8;
        if (column % 7 == 1 && !std::isnan(value)) signal += value * (column % 2 == 0 ? 1 : -1);
        indices.push_back(column);
        values.push_back(value);
      }
      offsets.push_back(static_cast<std::int64_t>(indices.size()));
      labels.push_back(signal);
      weights.push_back(static_cast<double>(random() % 4) / 2);
    }
    matrix = {.storage = Storage::kCsr,
              .dtype = DType::kF64,
              .rows = rows,
              .columns = columns,
              .values = values.data(),
              .offsets = offsets.data(),
              .indices = indices.data()};
  }

  // Regression labels, or classes of about equal size.
  std::vector<double> labels_of(int classes) const {
    if (classes == 0) return labels;
    std::vector<double> sorted = labels, result;
    std::sort(sorted.begin(), sorted.end());
    for (const double label : labels) {
      const auto below = std::lower_bound(sorted.begin(), sorted.end(), label) - sorted.begin();
      result.push_back(static_cast<double>(below * classes / rows));
    }
    return result;
  }
};

// Trains on dense rows, sparse rows, and sparse columns, with several numbers of threads.
template <class Train>
void expect_same_as_dense(const Words& words, const Train& train) {
  Threads alone(1);
  const Matrix dense = to_storage(words.matrix, Storage::kDense, alone);
  ASSERT_FALSE(suits_sparse_bins(dense, nullptr));
  ASSERT_TRUE(suits_sparse_bins(words.matrix, nullptr));
  const Model wanted = train(dense, alone);
  EXPECT_GT(wanted.trees[0].leaves(), 5);
  expect_same(train(words.matrix, alone), wanted);
  Threads three(3);
  expect_same(train(words.matrix, three), wanted);
  expect_same(train(to_storage(words.matrix, Storage::kCsc, three), three), wanted);
}

TEST(SparseTrees, MatchDenseTrees) {
  const Words words(3000, 400, 8);
  for (const int classes : {0, 2, 3})
    for (const bool is_weighted : {false, true})
      for (const int leaves : {0, 40}) {
        const auto labels = words.labels_of(classes);
        ForestOptions options;
        options.classes = classes;
        options.max_depth = 9;
        options.max_leaves = leaves;
        options.min_samples_leaf = is_weighted ? 7 : 1;
        expect_same_as_dense(words, [&](const Matrix& matrix, Threads& threads) {
          return train_forest(
              matrix, {labels, is_weighted ? std::span(words.weights) : std::span<const double>()},
              options, threads);
        });
      }
}

TEST(SparseTrees, MatchDenseForests) {
  const Words words(1500, 900, 12);
  for (const int classes : {0, 2, 3})
    for (const bool has_random_thresholds : {false, true}) {
      const auto labels = words.labels_of(classes);
      ForestOptions options;
      options.classes = classes;
      options.trees = 4;
      options.bootstrap = !has_random_thresholds;
      options.random_thresholds = has_random_thresholds;
      options.uses_entropy = classes == 2 && has_random_thresholds;
      options.columns_per_node = 20;
      options.min_samples_leaf = classes == 3 ? 4 : 1;
      expect_same_as_dense(words, [&](const Matrix& matrix, Threads& threads) {
        return train_forest(matrix, {labels, {}}, options, threads);
      });
    }
}

TEST(SparseTrees, MatchDenseCategories) {
  Words words(1500, 300, 6);
  for (double& value : words.values)
    if (!std::isnan(value)) value = std::abs(std::floor(value));
  const auto labels = words.labels_of(2);
  ForestOptions options;
  options.classes = 2;
  options.max_depth = 8;
  options.bins.categorical = {0, 2, 5, 8, 299};
  expect_same_as_dense(words, [&](const Matrix& matrix, Threads& threads) {
    return train_forest(matrix, {labels, {}}, options, threads);
  });
}

TEST(SparseTrees, MatchDenseBoosting) {
  const Words words(2500, 300, 8);
  struct Case {
    const char* objective;
    int classes, max_leaves;
    double l2, subsample, columns_per_tree;
    int columns_per_node;
  };
  for (const Case& one :
       {Case{"logistic", 2, 20, 0, 1, 1, 0}, Case{"logistic", 2, 0, 1, 0.7, 1, 0},
        Case{"softmax", 3, 12, 0, 1, 0.5, 0}, Case{"quantile", 0, 12, 0, 0.8, 1, 0},
        Case{"squared_error", 0, 0, 0.5, 1, 0.6, 15}}) {
    const auto labels = words.labels_of(one.classes);
    BoostOptions options;
    options.objective = one.objective;
    options.classes = one.classes == 3 ? 3 : 0;
    options.rounds = 6;
    options.max_depth = 6;
    options.max_leaves = one.max_leaves;
    options.l2 = one.l2;
    options.subsample = one.subsample;
    options.columns_per_tree = one.columns_per_tree;
    options.columns_per_node = one.columns_per_node;
    SCOPED_TRACE(one.objective);
    expect_same_as_dense(words, [&](const Matrix& matrix, Threads& threads) {
      const ValidationSet set = {matrix, {labels, {}}};
      const Boosted boosted = train_boosting(matrix, {labels, {}}, options, threads, &set);
      const Model plain = train_boosting(matrix, {labels, {}}, options, threads).model;
      expect_same(plain, boosted.model);
      return boosted.model;
    });
  }
}

// Rows of rank r; the last of four ranks has none.
Matrix words_of_rank(const Matrix& matrix, int rank, int ranks, std::int64_t& first) {
  const int parts = ranks == 4 ? 3 : ranks;
  first = matrix.rows * std::min(rank, parts) / parts;
  return row_range(matrix, first, matrix.rows * std::min(rank + 1, parts) / parts);
}

template <class Train>
void expect_same_words_on_ranks(const Words& words, int classes, const Train& train) {
  const auto all_labels = words.labels_of(classes);
  Threads alone(1);
  const Model wanted = train(words.matrix, std::span(all_labels), alone, nullptr);
  EXPECT_GT(wanted.trees[0].leaves(), 5);
  for (const int ranks : {1, 3, 4}) {
    comm::ThreadWorld world(ranks);
    world.run([&](comm::Transport& transport) {
      const auto communicator =
          comm::Communicator::create(std::shared_ptr<comm::Transport>(&transport, [](auto*) {}));
      std::int64_t first = 0;
      const Matrix rows = words_of_rank(words.matrix, communicator->rank(), ranks, first);
      const auto labels =
          std::span(all_labels)
              .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows.rows));
      Threads threads(communicator->rank() % 2 + 1);
      expect_same(train(rows, labels, threads, communicator.get()), wanted);
    });
  }
}

TEST(SparseTrees, AreTheSameOnRanks) {
  const Words words(2000, 300, 8);
  for (const int classes : {0, 2, 3})
    for (const int columns_per_node : {0, 15})
      expect_same_words_on_ranks(words, classes,
                                 [&](const Matrix& matrix, std::span<const double> labels,
                                     Threads& threads, comm::Communicator* communicator) {
                                   ForestOptions options;
                                   options.classes = classes;
                                   options.max_depth = 6;
                                   options.columns_per_node = columns_per_node;
                                   return train_forest(matrix, {labels, {}}, options, threads,
                                                       communicator);
                                 });
  expect_same_words_on_ranks(
      words, 2,
      [&](const Matrix& matrix, std::span<const double> labels, Threads& threads,
          comm::Communicator* communicator) {
        BoostOptions options;
        options.objective = "logistic";
        options.rounds = 4;
        options.max_leaves = 12;
        return train_boosting(matrix, {labels, {}}, options, threads, nullptr, communicator).model;
      });
}

// Rows are predicted in several blocks; absent entries are 0 or, in imported models, missing.
TEST(SparseTrees, PredictSparseRows) {
  const Words words(3000, 700, 8);
  Threads threads(2);
  ForestOptions options;
  options.classes = 2;
  options.trees = 10;
  options.columns_per_node = 20;
  Model model = train_forest(words.matrix, {words.labels_of(2), {}}, options, threads);
  const Matrix dense = to_storage(words.matrix, Storage::kDense, threads);
  EXPECT_EQ(predict_raw(model, words.matrix, threads), predict_raw(model, dense, threads));
  std::vector<double> missing(static_cast<std::size_t>(words.rows * words.columns),
                              std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t row = 0; row < words.rows; ++row)
    for (std::int64_t at = words.offsets[row]; at < words.offsets[row + 1]; ++at)
      missing[row * words.columns + words.indices[at]] = words.values[at];
  Matrix with_missing = dense;
  with_missing.values = missing.data();
  model.absent_is_missing = true;
  EXPECT_EQ(predict_raw(model, words.matrix, threads), predict_raw(model, with_missing, threads));
}

TEST(SparseBinnedData, StoresBinsThatDifferFromTheDefault) {
  const Words words(500, 100, 6);
  Threads threads(2);
  const Bins bins = find_bins(words.matrix, {}, threads);
  const SparseBinnedData data(words.matrix, bins, threads, nullptr);
  const Matrix dense = to_storage(words.matrix, Storage::kDense, threads);
  const auto* values = static_cast<const double*>(dense.values);
  for (int column = 0; column < 100; ++column) {
    const auto [begin, end] = data.slots_of(column);
    std::size_t entries = 0;
    for (auto slot = begin; slot < end; ++slot) {
      EXPECT_EQ(data.column_of(slot), column);
      EXPECT_FALSE(data.rows_of(slot).empty());
      for (const std::uint32_t row : data.rows_of(slot))
        EXPECT_EQ(data.at(row, column), data.bin_of(slot));
      entries += data.rows_of(slot).size();
    }
    EXPECT_EQ(data.entries_of(column), entries);
    for (std::uint32_t row = 0; row < 500; ++row)
      EXPECT_EQ(data.at(row, column), bins.columns[column].bin_of(values[row * 100 + column]));
  }
  EXPECT_EQ(data.slots_of(97).begin, data.slots_of(97).end);  // no entries
  EXPECT_EQ(data.entries_of(98), 1U);
}

// Both methods to sample columns find the same split.
TEST(SampledSearch, ColumnsAndListGiveTheSameSplit) {
  const Words words(4000, 6000, 20);
  Threads threads(1);
  const Bins bins = find_bins(words.matrix, {}, threads);
  const SparseBinnedData data(words.matrix, bins, threads, nullptr);
  const auto labels = words.labels_of(2);
  const HistogramShape shape = {Kind::kNarrow, 6000, 0};
  const SplitSearch search(bins, shape, {});
  GrowOptions options;
  options.columns_per_node = 30;
  for (int column = 0; column < 6000; column += 2) options.columns.push_back(column);
  std::vector<char> is_allowed(6000);
  for (const int column : options.columns) is_allowed[column] = 1;
  SampledSearch<NarrowRecord> sampled(data, search, options);
  EXPECT_TRUE(sampled.is_faster_by_column(4000));
  EXPECT_FALSE(sampled.is_faster_by_column(4));
  SlotAccumulator accumulator(data, shape);
  for (const std::size_t size : {2U, 5U, 40U, 700U, 4000U}) {
    std::vector<NarrowRecord> rows;
    GrownNode node;
    for (std::size_t i = 0; i < size; ++i) {
      rows.push_back({static_cast<std::uint32_t>(i * (4000 / size)),
                      static_cast<std::int16_t>(labels[i * (4000 / size)]), 1});
      node.sums.gradient += rows.back().gradient;
      node.sums.hessian = node.sums.count = static_cast<std::int64_t>(i) + 1;
    }
    node.path = mix(size);
    GrownNode other = node;
    sampled.search_columns(rows, node);
    accumulator.add(std::span<const NarrowRecord>(rows));
    SlotSums sums;
    accumulator.take({0, static_cast<std::uint32_t>(data.slots())}, is_allowed, sums);
    sampled.search_list(sums, other);
    EXPECT_TRUE(node.split.exists());
    EXPECT_EQ(node.split.column, other.split.column);
    EXPECT_EQ(node.split.gain, other.split.gain);
    EXPECT_EQ(node.split.left_bins, other.split.left_bins);
  }
}

}  // namespace
}  // namespace tutti::learn::tree
