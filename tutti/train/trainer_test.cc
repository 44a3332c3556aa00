// The training loop and its strategies on a small problem; ranks are threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tutti/core/error.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/internal/testing.h"

namespace tutti::train {
namespace {

TEST_F(TrainerTest, RanksComputeTheSameAsOneRank) {
  const Result one = run(1, "one", {{"steps", "12"}, {"batch", "24"}});
  const Result three = run(3, "three", {{"steps", "12"}, {"bucket_bytes", "1024"}});
  const Result accumulated = run(1, "accumulated", {{"steps", "12"}, {"accumulate", "3"}});
  ASSERT_EQ(one.weights.size(), 11u);
  for (std::size_t i = 0; i < one.weights.size(); ++i) {
    EXPECT_NEAR(one.weights[i], three.weights[i], 1e-5);
    EXPECT_NEAR(one.weights[i], accumulated.weights[i], 1e-5);
  }
  EXPECT_EQ(one.weights[10], 0);  // does not contribute to the loss
}

TEST_F(TrainerTest, StagesComputeTheSameAsOneRank) {
  const Settings common = {{"steps", "12"}, {"optimizer", "adam"}, {"ema_decay", "0.5"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result one = run(1, "one", with({{"batch", "24"}}));
  const Result two =
      run(2, "two", with({{"batch", "24"}, {"stages", "2"}, {"micro_batches", "5"}}));
  const Result six = run(6, "six", with({{"stages", "2"}, {"micro_batches", "2"}}));
  ASSERT_EQ(one.weights.size(), 11u);
  for (std::size_t i = 0; i < one.weights.size(); ++i) {
    EXPECT_NEAR(one.weights[i], two.weights[i], 1e-4) << i;
    EXPECT_NEAR(one.weights[i], six.weights[i], 1e-4) << i;
  }
  EXPECT_NEAR(one.score, six.score, 1e-3);
}

// Stages clip by the norm of the whole gradient; each has a part of it.
TEST_F(TrainerTest, StagesClipAsOneRankWould) {
  const Settings common = {{"steps", "12"}, {"optimizer", "sgd"}, {"clip_norm", "0.1"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result one = run(1, "one", with({{"batch", "16"}}));
  const Settings stages = {{"stages", "2"}, {"micro_batches", "2"}};
  for (const char* update : {"all", "sharded"}) {
    Settings settings = with(stages);
    settings.emplace_back("update", update);
    const Result four = run(4, std::string("clipped-") + update, settings);
    for (std::size_t i = 0; i < one.weights.size(); ++i)
      EXPECT_NEAR(one.weights[i], four.weights[i], 1e-5) << update << ' ' << i;
  }
}

TEST_F(TrainerTest, ShardedUpdatesMatchFullUpdates) {
  const Settings common = {{"steps", "12"}, {"optimizer", "adam"}, {"clip_norm", "1"}};
  auto with = [&](const char* update, Settings more = {}) {
    more.emplace_back("update", update);
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result all = run(3, "all", with("all"));
  const Result slices = run(3, "slices", with("sharded", {{"bucket_bytes", "1024"}}));
  const Settings two_stages = {{"steps", "12"}, {"stages", "2"}, {"micro_batches", "2"}};
  auto staged = [&](const char* update) {
    Settings settings = two_stages;
    settings.emplace_back("update", update);
    return run(4, std::string("stages-") + update, settings);
  };
  const Result stages = staged("sharded"), whole_stages = staged("all");
  ASSERT_EQ(slices.weights.size(), 11u);
  for (std::size_t i = 0; i < all.weights.size(); ++i) {
    EXPECT_NEAR(all.weights[i], slices.weights[i], 1e-5) << i;
    EXPECT_NEAR(whole_stages.weights[i], stages.weights[i], 1e-5) << i;
  }
  EXPECT_THROW(run(2, "late", with("sharded", {{"lag", "1"}})), ConfigError);
  EXPECT_THROW(run(2, "norms", {{"update", "sharded"}, {"optimizer", "lamb"}}), ConfigError);
}

TEST_F(TrainerTest, TooManyStages) {
  EXPECT_THROW(run(3, "odd", {{"stages", "2"}}), ConfigError);
  EXPECT_THROW(run(3, "long", {{"stages", "3"}}), ConfigError);
  EXPECT_THROW(run(3, "servers", {{"stages", "2"}, {"strategy", "async"}}), ConfigError);
}

// Three updates per step, two of them of the same parameters, each with the weights that the previous one has changed:
// the same for any number of ranks.
TEST_F(TrainerTest, UpdatesOfAStepAlternate) {
  updates_ = {{"first", "matrix"}, {"second", "weight"}, {"third", "weight"}};
  const Settings settings = {{"steps", "5"}, {"optimizer", "adam"}, {"clip_norm", "0.7"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), settings.begin(), settings.end());
    return more;
  };
  const Result one = run(1, "one", with({{"batch", "24"}}));
  const Result three = run(3, "three", with({}));
  const Result accumulated = run(1, "accumulated", with({{"accumulate", "3"}}));
  ASSERT_EQ(one.weights.size(), 11u);
  for (std::size_t i = 0; i < one.weights.size(); ++i) {
    EXPECT_NEAR(one.weights[i], three.weights[i], 1e-5);
    EXPECT_NEAR(one.weights[i], accumulated.weights[i], 1e-5);
  }
  const auto columns = runs::read_metrics(base_ / "one");
  EXPECT_EQ(columns.at("first").size(), 5u);
  EXPECT_LT(columns.at("second")[0] / 1.5, columns.at("first")[0]);  // all with the same batch
  EXPECT_LT(columns.at("third")[0] / 2, columns.at("second")[0] / 1.5);
  const double mean =
      (columns.at("first")[0] + columns.at("second")[0] + columns.at("third")[0]) / 3;
  EXPECT_NEAR(columns.at("loss")[0], mean, 1e-4 * mean);
}

TEST_F(TrainerTest, ParametersOfOtherUpdatesAreFrozen) {
  updates_ = {{"first", "weight"}, {"second", "weight"}};
  const Result result = run(2, "still", {{"steps", "9"}, {"optimizer", "adam"}});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(result.weights[i], 0.3f);  // `matrix`
  for (std::size_t i = 4; i < 8; ++i)
    EXPECT_GT(std::abs(result.weights[i] - 0.1f * float(i - 3)), 0.01);
}

TEST_F(TrainerTest, SeveralUpdatesNeedSync) {
  updates_ = {{"first", "matrix"}, {"second", "weight"}};
  EXPECT_THROW(run(2, "lag", {{"lag", "1"}}), ConfigError);
  EXPECT_THROW(run(2, "local", {{"strategy", "local_sgd"}}), ConfigError);
  EXPECT_THROW(run(3, "servers", {{"strategy", "async"}}), ConfigError);
}

TEST_F(TrainerTest, EveryStrategyLearns) {
  const double start = run(1, "start", {{"steps", "1"}, {"learning_rate", "0"}}).score;
  auto learns = [&](int ranks, Settings settings) {
    settings.insert(settings.end(), {{"steps", "150"}, {"momentum", "0.5"}});
    std::string name;
    for (const auto& [key, value] : settings) name += key + value;
    EXPECT_GT(run(ranks, name, settings).score, 0.05 * start)
        << name;  // scores are negative losses
  };
  learns(2, {{"lag", "1"}});
  learns(3, {{"strategy", "local_sgd"}, {"local_steps", "4"}});
  learns(3, {{"strategy", "async"}});
  learns(5, {{"strategy", "hybrid"}, {"groups", "2"}, {"servers", "1"}});
  learns(4, {{"strategy", "hybrid"}, {"groups", "1"}, {"servers", "2"}});
  learns(2, {{"optimizer", "adam"}, {"clip_norm", "1"}, {"ema_decay", "0.9"}});
}

TEST_F(TrainerTest, StepsOfAllGroupsAreInTheFile) {
  for (const char* strategy : {"async", "hybrid"}) {
    run(5, strategy, {{"strategy", strategy}, {"groups", "2"}, {"steps", "25"}});
    const auto columns = runs::read_metrics(base_ / strategy);
    std::vector<double> all(25);
    std::iota(all.begin(), all.end(), 1.0);
    EXPECT_EQ(columns.at("step"), all) << strategy;
    const std::size_t groups = strategy == std::string("async") ? 4 : 2;
    const auto& group = columns.at("group");
    EXPECT_EQ(std::set<double>(group.begin(), group.end()).size(), groups);
  }
}

TEST_F(TrainerTest, SpeedOfRanksTogetherAloneAndApart) {
  Options options(train_options());
  options.set("batch", "4");
  comm::ThreadWorld world(2);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    ToyTask task;
    const SpeedReport report = measure_speed(task, *communicator, options, 5);
    EXPECT_EQ(report.step_seconds.size(), 5u);
    EXPECT_EQ(report.alone_seconds.size(), 5u);
    EXPECT_EQ(report.apart_seconds.size(), 10u);
    for (const auto& seconds : {report.step_seconds, report.alone_seconds, report.apart_seconds})
      EXPECT_GT(*std::min_element(seconds.begin(), seconds.end()), 0);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(report.slowest_seconds.at(i),
                std::max(report.apart_seconds[i], report.apart_seconds[5 + i]));
  });
}

TEST_F(TrainerTest, TooFewRanksForServers) {
  EXPECT_THROW(run(2, "few", {{"strategy", "hybrid"}, {"groups", "2"}, {"servers", "1"}}),
               ConfigError);
}

}  // namespace
}  // namespace tutti::train
