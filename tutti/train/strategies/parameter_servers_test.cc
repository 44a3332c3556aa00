// Staleness with a fixed order of updates.
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/train/run/options.h"
#include "tutti/train/strategy.h"

namespace tutti::train {
namespace {

// Lets threads proceed one at a time in a given order.
class Turns {
 public:
  explicit Turns(std::string order) : order_(std::move(order)) {}
  void wait_for_turn(char who) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ < order_.size() && order_[next_] == who; });
  }
  void end_turn() {
    const std::lock_guard lock(mutex_);
    ++next_;
    changed_.notify_all();
  }

 private:
  const std::string order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
};

// The staleness of a group is the number of updates by others since its own last turn.
std::vector<double> expected(const std::string& order, char who) {
  std::vector<double> all;
  double others = 0;
  for (const char each : order) {
    if (each == who)
      all.push_back(std::exchange(others, 0));
    else
      ++others;
  }
  return all;
}

// Groups 'A', 'B', ... of `group_ranks` ranks update in this order; returns the staleness of each.
std::map<char, std::vector<double>> staleness(const std::string& order, int groups, int group_ranks,
                                              int servers) {
  Options options(train_options());
  options.set("strategy", group_ranks == 1 ? "async" : "hybrid");
  options.set("groups", std::to_string(groups));
  options.set("servers", std::to_string(servers));
  options.set("optimizer", "sgd");
  Turns turns(order);
  std::mutex mutex;
  std::map<char, std::vector<double>> found;
  comm::ThreadWorld world(groups * group_ranks + servers);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    torch::nn::Module model;
    for (const char* name : {"a", "b", "c"}) model.register_parameter(name, torch::zeros({5}));
    FlatParameters parameters(model, *communicator, false);
    Optimizer optimizer(update_settings(options), parameters.segments());
    const auto strategy = make_strategy({*communicator, model, options, parameters, optimizer});
    if (!strategy->trains()) return strategy->serve(0);
    const char me = static_cast<char>('A' + strategy->group_number());
    const bool is_leader = strategy->group().rank() == 0;
    for (std::int64_t left = std::count(order.begin(), order.end(), me); left > 0; --left) {
      if (is_leader) turns.wait_for_turn(me);
      strategy->begin();
      EXPECT_TRUE(strategy->reduce(true).is_usable);
      const double stale = strategy->finish(1, 0.1, 1, true).staleness;
      if (!is_leader) continue;
      {
        const std::lock_guard lock(mutex);
        found[me].push_back(stale);
      }
      turns.end_turn();
    }
    strategy->leave();
  });
  return found;
}

TEST(ParameterServers, StalenessFollowsFromTheOrder) {
  for (const std::string order : {"AAAA", "ABABAB", "ABBBAABBBBBA", "BA"})
    for (const int group_ranks : {1, 2})
      for (const int servers : {1, 2}) {
        const auto found = staleness(order, 2, group_ranks, servers);
        for (const auto& [who, values] : found)
          EXPECT_EQ(values, expected(order, who)) << order << " " << who << " " << servers;
      }
  const std::string order = "ABCACCBAACBCBA";
  const auto found = staleness(order, 3, 1, 1);
  ASSERT_EQ(found.size(), 3u);
  for (const auto& [who, values] : found) EXPECT_EQ(values, expected(order, who)) << who;
}

// The third group takes three steps during one of the first.
TEST(ParameterServers, AnExampleByHand) {
  const auto found = staleness("ACCCBA", 3, 1, 1);
  EXPECT_EQ(found.at('A'), (std::vector<double>{0, 4}));
  EXPECT_EQ(found.at('B'), (std::vector<double>{4}));
  EXPECT_EQ(found.at('C'), (std::vector<double>{1, 0, 0}));
}

}  // namespace
}  // namespace tutti::train
