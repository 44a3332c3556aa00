// Stopped and resumed runs, and the selection of the best weights.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tutti/core/error.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/internal/testing.h"

namespace tutti::train {
namespace {

TEST_F(TrainerTest, StagesContinueWhereTheyStopped) {
  const Settings common = {{"stages", "2"}, {"optimizer", "adam"}, {"micro_batches", "2"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result whole = run(2, "whole", with({{"steps", "20"}}));
  run(2, "parts", with({{"steps", "20"}, {"checkpoint_steps", "7"}, {"keep_checkpoints", "9"}}));
  for (const auto& file : fs::directory_iterator(base_ / "parts/checkpoints"))
    if (file.path().filename() > "step-000000000007.ckpt") fs::remove(file);
  EXPECT_EQ(whole.weights, run(2, "parts", with({{"steps", "20"}}), true).weights);
}

TEST_F(TrainerTest, AlternatingUpdatesContinueWhereTheyStopped) {
  updates_ = {{"first", "matrix"}, {"second", "weight"}, {"third", "weight"}};
  const Settings settings = {{"steps", "10"}, {"optimizer", "adam"}, {"checkpoint_steps", "5"}};
  const Result whole = run(2, "whole", settings);
  run(2, "parts", settings);
  fs::remove(base_ / "parts/checkpoints/step-000000000010.ckpt");
  EXPECT_EQ(whole.weights, run(2, "parts", settings, true).weights);
}

class ResumedTest : public TrainerTest, public testing::WithParamInterface<const char*> {};

TEST_P(ResumedTest, IsBitForBitTheSame) {
  const Settings common = {{"optimizer", "adam"},
                           {"ema_decay", "0.5"},
                           {"schedule", "cosine"},
                           {"update", GetParam() == std::string("sharded") ? "sharded" : "all"},
                           {"lag", GetParam() == std::string("late") ? "1" : "0"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result whole = run(2, "whole", with({{"steps", "20"}}));
  // As after a kill: the checkpoint of step 12 is the last one.
  run(2, "parts", with({{"steps", "20"}, {"checkpoint_steps", "4"}, {"keep_checkpoints", "9"}}));
  for (const char* late :
       {"step-000000000016.ckpt", "step-000000000018.ckpt", "step-000000000020.ckpt"})
    fs::remove(base_ / "parts/checkpoints" / late);
  const Result parts = run(2, "parts", with({{"steps", "20"}}), true);
  EXPECT_EQ(whole.weights, parts.weights);
  EXPECT_EQ(newest("whole").arrays, newest("parts").arrays);  // including the buffers of each rank
  EXPECT_TRUE(newest("whole").arrays.contains("buffers.ranks"));
  const auto columns = runs::read_metrics(base_ / "parts");
  ASSERT_EQ(columns.at("step").size(), 20u);
  EXPECT_EQ(columns.at("loss"), runs::read_metrics(base_ / "whole").at("loss"));
}

INSTANTIATE_TEST_SUITE_P(Updates, ResumedTest, testing::Values("all", "sharded", "late"),
                         [](const auto& parameter) { return std::string(parameter.param); });

// Four of six steps of two ranks, then other ranks take the rest of the epoch, at the same position of the schedule.
TEST_F(TrainerTest, AnotherNumberOfRanksContinuesAtTheSameSample) {
  const Settings common = {{"schedule", "cosine"}, {"learning_rate", "0.03"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const double third = 0.03 * (1 + std::cos(std::acos(-1.0) / 3)) / 2;
  for (const int ranks : {1, 2, 3, 4}) {
    const std::string name = std::to_string(ranks);
    samples_.clear();
    run(2, name, with({{"steps", "4"}}));
    ASSERT_EQ(samples_.size(), 64u);
    run(ranks, name, with({{"epochs", "2"}}), true);
    const std::int64_t rest = 32 / (8 * ranks), epoch = 96 / (8 * ranks);
    const auto columns = runs::read_metrics(base_ / name);
    ASSERT_EQ(columns.at("step").size(), std::size_t(4 + rest + epoch)) << ranks;
    const double rounding = 32 % (8 * ranks) == 0 ? 1e-7 : 0.2 * third;  // to whole steps
    EXPECT_NEAR(columns.at("learning_rate").at(4), third, rounding) << ranks;
    EXPECT_DOUBLE_EQ(columns.at("epoch").back(), 2);
    const auto end = samples_.begin() + 64 + rest * 8 * ranks;
    EXPECT_EQ(std::set<std::int64_t>(samples_.begin(), end).size(),
              std::size_t(end - samples_.begin()));
    EXPECT_EQ(std::set<std::int64_t>(end, samples_.end()).size(), 96u);
    const Checkpoint last = *CheckpointFolder(base_ / name / "checkpoints", 1).newest();
    EXPECT_EQ(last.texts.at("epoch"), "2");
    EXPECT_EQ(last.texts.at("epoch_samples"), "0");
    EXPECT_EQ(last.texts.at("samples"), std::to_string(64 + (rest + epoch) * 8 * ranks));
  }
}

// They have only the step, from which the same number of ranks can resume.
TEST_F(TrainerTest, CheckpointsOfVersionOneAreRead) {
  const Result whole = run(2, "whole", {{"steps", "10"}});
  run(2, "old", {{"steps", "4"}});
  const fs::path file = base_ / "old/checkpoints/step-000000000004.ckpt";
  Checkpoint old = read_checkpoint(file);
  for (const char* name : {"samples", "epoch", "epoch_samples"}) old.texts.erase(name);
  ASSERT_EQ(old.version(), kCheckpointVersion);
  old.texts["version"] = "1";
  write_checkpoint(file, old);
  EXPECT_EQ(whole.weights, run(2, "old", {{"steps", "10"}}, true).weights);
  const auto texts = CheckpointFolder(base_ / "old/checkpoints", 1).newest()->texts;
  EXPECT_EQ(texts.at("samples"), "160");
  EXPECT_EQ(texts.at("epoch"), "1");
}

// By time: a checkpoint is always due.
TEST_F(TrainerTest, StagesWriteCheckpointsByTheClock) {
  run(2, "clock",
      {{"stages", "2"},
       {"micro_batches", "2"},
       {"checkpoint_seconds", "1e-9"},
       {"keep_checkpoints", "99"},
       {"steps", "5"}});
  for (int step = 1; step <= 5; ++step)
    EXPECT_TRUE(fs::exists(base_ / "clock/checkpoints" /
                           ("step-00000000000" + std::to_string(step) + ".ckpt")))
        << step;
}

TEST_F(TrainerTest, RunningMeansOfACheckpointAreThoseOfAllRanks) {
  run(3, "means", {{"steps", "2"}});  // within an epoch
  const Checkpoint checkpoint = newest("means");
  const std::vector<float> all = floats(checkpoint, "buffers.ranks");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_NE(all[0], all[1]);
  EXPECT_NEAR(floats(checkpoint, "buffers").at(0), (all[0] + all[1] + all[2]) / 3, 1e-7);
}

// The validation set selects the best weights; only these are evaluated on the test set, once.
TEST_F(TrainerTest, TestSamplesAreForTheResultOnly) {
  validates_ = true;
  for (const char* strategy : {"sync", "async"}) {
    const Result result = run(2, strategy, {{"epochs", "3"}, {"strategy", strategy}});
    EXPECT_EQ(evaluated_, "vvvt");
    std::ifstream file(base_ / strategy / "validation.csv");
    std::string line;
    std::vector<double> scores;
    for (std::getline(file, line); std::getline(file, line);)
      scores.push_back(std::stod(line.substr(line.rfind(',') + 1)));
    ASSERT_EQ(scores.size(), 3u);
    EXPECT_GT(scores[0], scores[2]);
    EXPECT_NEAR(result.score, -scores[0], 1e-4);
    const Checkpoint best = *CheckpointFolder(base_ / strategy / "checkpoints", 1).best();
    EXPECT_EQ(best.step, strategy == std::string("sync") ? 6 : 12);
    EXPECT_FALSE(best.arrays.contains("pending") || best.arrays.contains("optimizer.0"));
  }
}

// No weights were selected, and the result says so.
TEST_F(TrainerTest, NonFiniteResultsSelectNoWeights) {
  validates_ = true;
  run(2, "finite", {{"epochs", "2"}});
  EXPECT_TRUE(is_best_);
  validation_is_nan_ = true;
  run(2, "nan", {{"epochs", "2"}});
  EXPECT_FALSE(is_best_);
  EXPECT_FALSE(fs::exists(base_ / "nan/checkpoints/best.ckpt"));
}

// Resuming from an earlier checkpoint, or from the start, would discard the newest.
TEST_F(TrainerTest, CheckpointsThatCannotBeListedAreAnError) {
  run(1, "hidden", {{"steps", "2"}});
  fs::rename(base_ / "hidden/checkpoints", base_ / "hidden/moved");
  std::ofstream(base_ / "hidden/checkpoints") << "not a directory";
  try {
    CheckpointFolder(base_ / "hidden/checkpoints", 1).newest();
    FAIL();
  } catch (const IoError& error) {
    EXPECT_EQ(error.code(), "DDL-7-98");
  }
}

// Scores on other samples are not comparable.
TEST_F(TrainerTest, ASelectionByAnotherSplitStartsAgain) {
  run(2, "chosen", {{"epochs", "2"}});
  auto best = [&] { return *CheckpointFolder(base_ / "chosen/checkpoints", 1).best(); };
  EXPECT_EQ(best().texts.at("chosen_by"), "test");
  EXPECT_EQ(best().step, 12);
  validates_ = true;  // its scores are above 0, those of the test below
  run(2, "chosen", {{"epochs", "4"}}, true);
  EXPECT_EQ(best().texts.at("chosen_by"), "validation");
  validates_ = false;
  run(2, "chosen", {{"epochs", "5"}}, true);
  EXPECT_EQ(best().texts.at("chosen_by"), "test");
  EXPECT_EQ(best().step, 30);
}

// Other hosts may not see the run directory, or see the last file with a delay.
TEST_F(TrainerTest, BestWeightsAreReadByOneRankAndGivenToAll) {
  run(2, "seen", {{"epochs", "1"}});
  const Options options(train_options());
  auto evaluated = [&](const std::vector<std::string>& folders) {
    std::vector<double> scores(folders.size());
    std::vector<std::string> codes(folders.size());
    comm::ThreadWorld world(static_cast<int>(folders.size()));
    world.run([&](comm::Transport& transport) {
      const auto rank = static_cast<std::size_t>(transport.rank());
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      ToyTask task;
      try {
        const TrainJob job{"toy", options, base_ / folders[rank], true};
        scores[rank] = evaluate_run(task, *communicator, job, "").metrics.at(0).second;
      } catch (const Error& error) {
        codes[rank] = error.code();
      }
    });
    return std::pair(scores, codes);
  };
  const auto [scores, codes] = evaluated({"seen", "elsewhere", "elsewhere"});
  EXPECT_EQ(codes, std::vector<std::string>(3));
  EXPECT_EQ(scores, std::vector<double>(3, scores[0]));
  EXPECT_EQ(evaluated({"elsewhere", "seen"}).second, std::vector<std::string>(2, "DDL-7-66"));
}

}  // namespace
}  // namespace tutti::train
