// Losses and gradients that are not finite.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/internal/testing.h"

namespace tutti::train {
namespace {

TEST_F(TrainerTest, OneBadStepIsSkippedByAll) {
  const Result result = run(3, "bad", {{"steps", "40"}}, false, 5);
  for (float weight : result.weights) EXPECT_TRUE(std::isfinite(weight));
  std::ifstream events(base_ / "bad/events-rank2.jsonl");
  const std::string text((std::istreambuf_iterator<char>(events)), {});
  EXPECT_NE(text.find("not_finite"), std::string::npos);
}

class BadGradientTest : public TrainerTest, public testing::WithParamInterface<const char*> {
 protected:
  BadGradientTest() { has_bad_gradient_ = true; }
  std::string kind() const { return GetParam(); }
  // Ranks and settings. The rank with the non-finite gradient trains and has the layer `matrix`.
  std::pair<int, Settings> how() {
    if (kind() == "alone") return {1, {}};
    if (kind() == "late") return {3, {{"lag", "1"}}};
    if (kind() == "slices") return {3, {{"update", "sharded"}}};
    if (kind() == "local") return {3, {{"strategy", "local_sgd"}, {"local_steps", "4"}}};
    bad_rank_ = kind() == "hybrid" ? 1 : bad_rank_;
    if (kind() == "hybrid") return {3, {{"strategy", "hybrid"}, {"groups", "1"}}};
    return {3, {}};
  }
};

// The loss is finite, and no weight changes on any rank.
TEST_P(BadGradientTest, IsSkippedByAll) {
  auto [ranks, settings] = how();
  settings.insert(settings.end(), {{"steps", "8"}, {"momentum", "0"}});
  const Result result = run(ranks, "bad", settings, false, 5);
  for (float weight : result.weights) EXPECT_TRUE(std::isfinite(weight));
  for (double loss : runs::read_metrics(base_ / "bad").at("loss")) EXPECT_TRUE(std::isfinite(loss));
  const int bad_rank = bad_rank_.value_or(ranks - 1);
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(events("bad", rank).find("\"what\":\"gradient\",\"where\":\"layer matrix\"") !=
                  std::string::npos,
              rank == bad_rank)
        << rank;
}

// Finite on every rank, but the sum is infinite.
TEST_P(BadGradientTest, SumThatIsNotFiniteIsSkippedByAll) {
  auto [ranks, settings] = how();
  if (ranks == 1) GTEST_SKIP() << "nothing is added";
  bad_gradient_ = 3e38f;
  all_are_bad_ = true;
  settings.insert(settings.end(), {{"steps", "8"}, {"momentum", "0"}});
  const Result result = run(ranks, "bad", settings, false, 5);
  for (float weight : result.weights) EXPECT_LT(std::abs(weight), 100);
  for (double loss : runs::read_metrics(base_ / "bad").at("loss")) EXPECT_TRUE(std::isfinite(loss));
}

// Adam would store an infinite square and never change these weights again.
TEST_P(BadGradientTest, SquareThatIsNotFiniteIsSkippedByAll) {
  bad_gradient_ = 1e30f;
  auto [ranks, settings] = how();
  settings.insert(settings.end(), {{"steps", "8"}, {"optimizer", "adam"}});
  const Result result = run(ranks, "bad", settings, false, 5);
  for (float weight : result.weights) EXPECT_LT(std::abs(weight), 100);
  for (float square : floats(newest("bad"), "optimizer.1")) EXPECT_LT(square, 1e6f);
}

TEST_P(BadGradientTest, ConsecutiveOnesEndTheRun) {
  stays_bad_ = true;
  auto [ranks, settings] = how();
  settings.insert(settings.end(), {{"steps", "20"}, {"checkpoint_steps", "1"}});
  try {
    run(ranks, "bad", settings, false, 5);
    FAIL();
  } catch (const Error& error) {
    // Other ranks may fail first: with the error of this rank inside their own.
    EXPECT_NE(std::string(error.what()).find("DDL-9-60"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("3 consecutive steps"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, BadGradientTest,
                         testing::Values("alone", "together", "late", "slices", "local", "hybrid"),
                         [](const auto& parameter) { return std::string(parameter.param); });

// One stage has the non-finite gradient; the other must not continue without it.
TEST_F(TrainerTest, ABadGradientIsSkippedByAllStages) {
  const Settings settings = {{"stages", "2"},
                             {"micro_batches", "1"},
                             {"checkpoint_steps", "1"},
                             {"keep_checkpoints", "9"},
                             {"steps", "5"}};
  bad_rank_ = 2;
  stages_are_bad_ = true;
  run(4, "stages", settings, false, 3);
  auto weights = [&](const char* step) {
    return floats(read_checkpoint(base_ / "stages/checkpoints" / step), "weights");
  };
  EXPECT_EQ(weights("step-000000000003.ckpt"), weights("step-000000000004.ckpt"));
  EXPECT_NE(weights("step-000000000004.ckpt"), weights("step-000000000005.ckpt"));
  EXPECT_NE(events("stages", 2).find("layer matrix"), std::string::npos);
}

TEST_F(TrainerTest, ConsecutiveBadStepsEndTheRun) {
  try {
    run(2, "hopeless", {{"steps", "40"}, {"learning_rate", "900"}, {"momentum", "0.99"}});
    FAIL();
  } catch (const ComputeError& error) {
    EXPECT_EQ(error.code(), "DDL-9-60") << error.what();
  }
}

// Otherwise a resumed run would fail in the same way.
TEST_F(TrainerTest, WeightsThatAreNotFiniteAreNotKept) {
  EXPECT_THROW(run(2, "hopeless",
                   {{"steps", "200"},
                    {"learning_rate", "900"},
                    {"momentum", "0.99"},
                    {"checkpoint_steps", "1"}}),
               Error);
  const Checkpoint newest = *CheckpointFolder(base_ / "hopeless/checkpoints", 1).newest();
  std::vector<float> weights(newest.arrays.at("weights").size() / sizeof(float));
  newest.get("weights", std::as_writable_bytes(std::span(weights)));
  for (const float weight : weights) EXPECT_TRUE(std::isfinite(weight));
}

}  // namespace
}  // namespace tutti::train
