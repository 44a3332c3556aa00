// That ranks with parts of the rows grow the trees of one process with all of them.
#include <gtest/gtest.h>

#include <mutex>

#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/learn/threads.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/internal/testing.h"

namespace tutti::learn::tree {
namespace {

// Rank r's rows; the last rank may have none.
std::pair<std::int64_t, std::int64_t> share(std::int64_t rows, int rank, int ranks) {
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
      const auto [begin, end] = share(data.rows, communicator->rank(), ranks);
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
  for (const char* objective : {"logistic", "squared_error"})
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

}  // namespace
}  // namespace tutti::learn::tree
