#include "tutti/runs/training_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <fstream>

#include "tutti/core/crc32c.h"

namespace tutti::runs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class TrainingLog : public testing::Test {
 protected:
  TrainingLog() {
    std::string form = fs::temp_directory_path() / "run-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~TrainingLog() override { fs::remove_all(base_); }
  static std::string content(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  fs::path base_;
};

TEST_F(TrainingLog, TwoRunsOfOneSecondHaveTwoFolders) {
  EXPECT_NE(new_run_folder(base_, "hep"), new_run_folder(base_, "hep"));
}

TEST_F(TrainingLog, TextIsWrittenToNewAndExistingDirectories) {
  write_text(base_ / "new" / "file.txt", "one");
  EXPECT_EQ(content(base_ / "new" / "file.txt"), "one");
  const fs::path before = fs::current_path();
  fs::current_path(base_);
  write_text("file.txt", "two");
  fs::current_path(before);
  EXPECT_EQ(content(base_ / "file.txt"), "two");
}

TEST_F(TrainingLog, MetricsAreCutAndContinued) {
  {
    RunLog log(base_, 0);
    for (int step : {1, 2, 3}) log.step(step, step / 10.0, {{"loss", 1.0 / step}});
  }
  cut_metrics(base_, 3);
  {
    RunLog log(base_, 0);
    log.step(3, 0.3, {{"loss", 0.25}});
  }
  const auto columns = read_metrics(base_);
  EXPECT_THAT(columns.at("step"), ElementsAre(1, 2, 3));
  EXPECT_THAT(columns.at("loss"), ElementsAre(1, 0.5, 0.25));
}

TEST_F(TrainingLog, StepsOfOthersAreSortedIn) {
  RunLog log(base_, 0);
  for (int step : {1, 4}) log.step(step, 0, {{"loss", step}, {"group", 0}});
  log.steps_of_others({{3, 0, {{"loss", 30}, {"group", 2}}}, {2, 0, {{"loss", 20}, {"group", 1}}}});
  log.step(5, 0, {{"loss", 5}, {"group", 0}});
  const auto columns = read_metrics(base_);
  EXPECT_THAT(columns.at("step"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(columns.at("loss"), ElementsAre(1, 20, 30, 4, 5));
  EXPECT_THAT(columns.at("group"), ElementsAre(0, 1, 2, 0, 0));
}

// An existing file keeps its columns.
TEST_F(TrainingLog, RowsFollowTheColumnsOfTheFile) {
  write_text(base_ / "metrics.csv", "step,epoch,loss,old\n1,0.1,0.5,7\n");
  RunLog(base_, 0).step(2, 0.2, {{"new", 3}, {"loss", 0.25}});
  const auto columns = read_metrics(base_);
  EXPECT_THAT(columns.at("loss"), ElementsAre(0.5, 0.25));
  EXPECT_THAT(columns.at("old"), ElementsAre(7, 0));
}

TEST_F(TrainingLog, OtherRanksWriteEventsOnly) {
  RunLog log(base_, 1);
  log.step(1, 0, {{"loss", 1}});
  log.events().write("epoch", {{"number", std::int64_t{1}}});
  EXPECT_FALSE(fs::exists(base_ / "metrics.csv"));
  EXPECT_FALSE(fs::exists(base_ / "tensorboard"));
  EXPECT_TRUE(fs::exists(base_ / "events-rank1.jsonl"));
}

// Parses the records like TensorBoard and verifies both checksums of each.
TEST_F(TrainingLog, TensorboardRecordsAreComplete) {
  TensorboardFile file(base_);
  file.scalar("train/loss", 300, 0.5f);
  const std::string bytes = content(file.path());
  int records = 0;
  std::size_t at = 0;
  auto unmasked = [&](std::size_t offset) {
    std::uint32_t masked;
    std::memcpy(&masked, bytes.data() + offset, 4);
    masked -= 0xa282ead8u;
    return (masked >> 17) | (masked << 15);
  };
  while (at < bytes.size()) {
    std::uint64_t length;
    std::memcpy(&length, bytes.data() + at, 8);
    ASSERT_EQ(unmasked(at + 8), crc32c(bytes.data() + at, 8));
    ASSERT_EQ(unmasked(at + 12 + length), crc32c(bytes.data() + at + 12, length));
    at += 16 + length;
    ++records;
  }
  EXPECT_EQ(records, 2);
  const float half = 0.5f;
  EXPECT_THAT(bytes, HasSubstr("brain.Event:2"));
  EXPECT_THAT(bytes,
              HasSubstr("train/loss\x15" + std::string(reinterpret_cast<const char*>(&half), 4)));
}

TEST_F(TrainingLog, ValidationsAreKeptAndCut) {
  {
    RunLog log(base_, 0);
    for (int step : {1, 2, 3, 4}) log.step(step, step / 2.0, {{"loss", -0.5 * step}});
    for (int epoch : {1, 2}) log.validation(2 * epoch, epoch, {{"skill", 0.1 * epoch}, {"z", 1}});
  }
  EXPECT_EQ(content(base_ / "validation.csv"),
            "step,epoch,skill,z\n2,1.00000,0.1,1\n4,2.00000,0.2,1\n");
  cut_metrics(base_, 3);
  EXPECT_EQ(content(base_ / "validation.csv"), "step,epoch,skill,z\n2,1.00000,0.1,1\n");
  RunLog(base_, 0).validation(2, 1, {{"skill", 0.3}, {"z", 1}});  // resumed at its end
  EXPECT_EQ(content(base_ / "validation.csv"), "step,epoch,skill,z\n2,1.00000,0.3,1\n");
}

TEST_F(TrainingLog, ARunWithoutStepsIsRemoved) {
  const fs::path run = new_run_folder(base_, "hep");
  write_text(run / "config.toml", "size = 1");
  write_text(run / "events-rank0.jsonl", "");
  write_text(run / "flight-rank0.json", "{}");
  forget_if_empty(run);
  EXPECT_TRUE(fs::exists(run / "config.toml"));
  fs::remove(run / "flight-rank0.json");
  forget_if_empty(run);
  EXPECT_FALSE(fs::exists(run));
}

}  // namespace
}  // namespace tutti::runs
