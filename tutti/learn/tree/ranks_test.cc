// Distributed growth: ranks with parts of the rows grow the trees of one process with all rows.
#include <gtest/gtest.h>

#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/residency.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/grow/external_memory.h"
#include "tutti/learn/tree/grow/grower.h"
#include "tutti/learn/tree/model/test_data.h"

namespace tutti::learn::tree {
namespace {

// Rows of rank r; the last rank may have none.
std::pair<std::int64_t, std::int64_t> rows_of_rank(std::int64_t rows, int rank, int ranks) {
  if (ranks == 4) return {rows * std::min(rank, 3) / 3, rows * std::min(rank + 1, 3) / 3};
  return {rows * rank / ranks, rows * (rank + 1) / ranks};
}

template <class Train>
void expect_same_on_ranks(const TestData& data, const Train& train) {
  Threads alone(2);
  const Model expected = train(data.matrix(), data.labels, alone, nullptr);
  for (const int ranks : {1, 3, 4}) {
    comm::ThreadWorld world(ranks);
    world.run([&](comm::Transport& transport) {
      auto communicator =
          comm::Communicator::create(std::shared_ptr<comm::Transport>(&transport, [](auto*) {}));
      const auto [begin, end] = rows_of_rank(data.rows, communicator->rank(), ranks);
      const std::vector<double> labels(data.labels.begin() + begin, data.labels.begin() + end);
      Threads threads(communicator->rank() % 2 + 1);
      expect_same(train(data.matrix(begin, end), labels, threads, communicator.get()), expected);
    });
  }
}

TEST(Ranks, GrowTheSameTree) {
  const TestData data = make_data(3001, 7, 15);
  for (const int classes : {0, 2, 3})
    expect_same_on_ranks(data, [&](const Matrix& matrix, std::vector<double> labels,
                                   Threads& threads, comm::Communicator* communicator) {
      ForestOptions options;
      options.classes = classes;
      options.max_depth = 5;
      return train_forest(matrix, {labels, {}}, options, threads, communicator);
    });
}

TEST(Ranks, GrowTheSameForest) {
  const TestData data = make_data(2000, 7);
  expect_same_on_ranks(data, [](const Matrix& matrix, std::vector<double> labels, Threads& threads,
                                comm::Communicator* communicator) {
    ForestOptions options;
    options.classes = 2;
    options.trees = 3;
    options.bootstrap = true;
    options.columns_per_node = 2;
    options.max_depth = 5;
    options.bins.sample = 700;
    return train_forest(matrix, {labels, {}}, options, threads, communicator);
  });
}

TEST(Ranks, BoostTheSameTrees) {
  const TestData data = make_data(3000, 7, 15);
  for (const char* objective : {"logistic", "squared_error", "quantile", "absolute_error"})
    expect_same_on_ranks(data, [&](const Matrix& matrix, std::vector<double> labels,
                                   Threads& threads, comm::Communicator* communicator) {
      BoostOptions options;
      options.objective = objective;
      options.rounds = 6;
      options.max_leaves = 12;
      options.subsample = 0.7;
      options.tree_probability = 0.7;
      const ValidationSet set = {matrix, {labels, {}}};
      return train_boosting(matrix, {labels, {}}, options, threads, &set, communicator).model;
    });
}

// Ranks that are threads share the resident set of the process, so the memory available to each varies; the trees must
// not.
TEST(Ranks, GrowTheSameTreesWithinALimit) {
  const TestData data = make_data(5000, 7, 15);
  for (const int leaves : {0, 12})
    expect_same_on_ranks(data, [&](const Matrix& matrix, std::vector<double> labels,
                                   Threads& threads, comm::Communicator* communicator) {
      BoostOptions options;
      options.objective = leaves == 0 ? "logistic" : "quantile";
      options.rounds = 2;
      options.max_depth = 6;
      options.max_leaves = leaves;
      if (communicator != nullptr) options.memory_limit = resident_bytes() + (96 << 20);
      return train_boosting(matrix, {labels, {}}, options, threads, nullptr, communicator).model;
    });
  expect_same_on_ranks(data, [&](const Matrix& matrix, std::vector<double> labels, Threads& threads,
                                 comm::Communicator* communicator) {
    ForestOptions options;
    options.classes = 2;
    options.trees = 2;
    options.columns_per_node = 3;
    options.max_depth = 7;
    if (communicator != nullptr) options.memory_limit = resident_bytes() + (96 << 20);
    return train_forest(matrix, {labels, {}}, options, threads, communicator);
  });
}

// With so little memory that the first nodes are split by passes over the files.
TEST(Ranks, SplitLargeNodesByPassesTogether) {
  const TestData data = make_data(60000, 7, 15);
  Threads two(2);
  const Bins bins = find_bins(data.matrix(), {}, two);
  const SplitRules rules;
  const SplitSearch search(bins, {Kind::kNarrow, 7, 0}, rules);
  GrowOptions options;
  options.max_depth = 6;
  options.is_classification = true;
  options.columns = {0, 1, 2, 3, 4, 5, 6};
  const auto tree_of = [&](const std::vector<GrownNode>& grown) {
    std::vector<std::int32_t> tree_index;
    Model model;
    model.trees.push_back(to_tree(grown, bins, rules, tree_index));
    return model;
  };
  const auto source_from = [&](std::int64_t first) {
    return RecordSource<NarrowRecord>([&data, first](std::int64_t begin, std::int64_t end,
                                                     NarrowRecord* target) {
      for (std::int64_t row = begin; row < end; ++row)
        *target++ = {static_cast<std::uint32_t>(row),
                     static_cast<std::int16_t>(data.labels[static_cast<std::size_t>(first + row)]),
                     1};
      return end - begin;
    });
  };
  Records<NarrowRecord> records, scratch;
  fill(source_from(0), data.rows, two, records);
  scratch.resize(records.size);
  const BinnedData binned = bin(data.matrix(), bins, two);
  const Model expected =
      tree_of(grow<NarrowRecord>({binned, search, options, records, scratch}, two));
  for (const int ranks : {3, 4}) {
    comm::ThreadWorld world(ranks);
    world.run([&](comm::Transport& transport) {
      auto communicator =
          comm::Communicator::create(std::shared_ptr<comm::Transport>(&transport, [](auto*) {}));
      Threads threads(communicator->rank() % 2 + 1);
      const auto [begin, end] = rows_of_rank(data.rows, communicator->rank(), ranks);
      const BinnedData in_file = bin_to_file(data.matrix(begin, end), bins, 5000,
                                             std::filesystem::temp_directory_path(), threads);
      const auto source = source_from(begin);
      const std::int64_t memory = (communicator->rank() + 3) << 19;
      expect_same(tree_of(grow_external_memory<NarrowRecord>(
                      {in_file, search, options, source, memory, communicator.get()}, threads)),
                  expected);
    });
  }
}

TEST(Ranks, AllRejectTooLittleMemoryOfOne) {
  const TestData data = make_data(20000, 7);
  comm::ThreadWorld world(3);
  world.run([&](comm::Transport& transport) {
    auto communicator =
        comm::Communicator::create(std::shared_ptr<comm::Transport>(&transport, [](auto*) {}));
    Threads threads(1);
    ForestOptions options;
    options.classes = 2;
    options.memory_limit = communicator->rank() == 1 ? 1 : std::int64_t{1} << 40;
    EXPECT_THROW(
        train_forest(data.matrix(), {data.labels, {}}, options, threads, communicator.get()),
        ConfigError);
  });
}

}  // namespace
}  // namespace tutti::learn::tree
