#include "tutti/train/run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "tutti/train/run/crc32c.h"
#include "tutti/train/run/progress.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class RunFolder : public testing::Test {
 protected:
  RunFolder() {
    std::string form = fs::temp_directory_path() / "run-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~RunFolder() override { fs::remove_all(base_); }
  static std::string content(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  fs::path base_;
};

TEST_F(RunFolder, TwoRunsOfOneSecondHaveTwoFolders) {
  EXPECT_NE(new_run_folder(base_, "hep"), new_run_folder(base_, "hep"));
}

TEST_F(RunFolder, TextGoesToNewFoldersAndToTheCurrentOne) {
  write_text(base_ / "new" / "file.txt", "one");
  EXPECT_EQ(content(base_ / "new" / "file.txt"), "one");
  const fs::path before = fs::current_path();
  fs::current_path(base_);
  write_text("file.txt", "two");
  fs::current_path(before);
  EXPECT_EQ(content(base_ / "file.txt"), "two");
}

TEST_F(RunFolder, MetricsAreCutAndContinued) {
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
  const std::vector<fs::path> plots = plot_run(base_);
  ASSERT_EQ(plots.size(), 2u) << "is rsvg-convert installed?";
  EXPECT_THAT(content(plots[0]), HasSubstr("<svg"));
  EXPECT_THAT(content(plots[1]), testing::StartsWith("\x89PNG"));
}

TEST_F(RunFolder, StepsOfOthersAreSortedIn) {
  RunLog log(base_, 0);
  for (int step : {1, 4}) log.step(step, 0, {{"loss", step}, {"group", 0}});
  log.steps_of_others({{3, 0, {{"loss", 30}, {"group", 2}}}, {2, 0, {{"loss", 20}, {"group", 1}}}});
  log.step(5, 0, {{"loss", 5}, {"group", 0}});
  const auto columns = read_metrics(base_);
  EXPECT_THAT(columns.at("step"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(columns.at("loss"), ElementsAre(1, 20, 30, 4, 5));
  EXPECT_THAT(columns.at("group"), ElementsAre(0, 1, 2, 0, 0));
}

// A file of an older run keeps its columns.
TEST_F(RunFolder, RowsFollowTheColumnsOfTheFile) {
  write_text(base_ / "metrics.csv", "step,epoch,loss,old\n1,0.1,0.5,7\n");
  RunLog(base_, 0).step(2, 0.2, {{"new", 3}, {"loss", 0.25}});
  const auto columns = read_metrics(base_);
  EXPECT_THAT(columns.at("loss"), ElementsAre(0.5, 0.25));
  EXPECT_THAT(columns.at("old"), ElementsAre(7, 0));
}

TEST_F(RunFolder, ManyNoisyStepsAreDrawnAsMeansWithTheirSpread) {
  {
    RunLog log(base_, 0);
    for (int step = 1; step <= 600; ++step) log.step(step, 0, {{"loss", step % 2 ? 1.0 : 3.0}});
  }
  const std::string picture = content(plot_run(base_)[0]);
  EXPECT_THAT(picture, HasSubstr("fill-opacity"));  // the band
  const auto line = picture.find("stroke-linejoin");
  const auto path = picture.rfind("<path d=", line);
  const std::string_view drawn(picture.data() + path, line - path);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 'L'), 59) << drawn;
}

TEST_F(RunFolder, OtherRanksWriteEventsOnly) {
  RunLog log(base_, 1);
  log.step(1, 0, {{"loss", 1}});
  log.events().write("epoch", {{"number", std::int64_t{1}}});
  EXPECT_FALSE(fs::exists(base_ / "metrics.csv"));
  EXPECT_FALSE(fs::exists(base_ / "tensorboard"));
  EXPECT_TRUE(fs::exists(base_ / "events-rank1.jsonl"));
}

// Reads the records back as TensorBoard does and checks both checksums of each.
TEST_F(RunFolder, TensorboardRecordsAreWhole) {
  TensorboardFile file(base_);
  file.scalar("train/loss", 300, 0.5f);
  const std::string bytes = content(file.path());
  int records = 0;
  std::size_t at = 0;
  auto unmasked = [&](std::size_t place) {
    std::uint32_t masked;
    std::memcpy(&masked, bytes.data() + place, 4);
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

TEST_F(RunFolder, ValidationsAreKeptCutAndDrawn) {
  {
    RunLog log(base_, 0);
    for (int step : {1, 2, 3, 4}) log.step(step, step / 2.0, {{"loss", -0.5 * step}});
    for (int epoch : {1, 2}) log.validation(2 * epoch, epoch, {{"skill", 0.1 * epoch}, {"z", 1}});
  }
  EXPECT_EQ(content(base_ / "validation.csv"),
            "step,epoch,skill,z\n2,1.00000,0.1,1\n4,2.00000,0.2,1\n");
  plot_run(base_);
  EXPECT_THAT(content(base_ / "plots/validation.svg"), HasSubstr(">skill, of data"));
  EXPECT_THAT(content(base_ / "plots/loss.svg"), HasSubstr(">-1.6<"));  // has no logarithm
  cut_metrics(base_, 3);
  EXPECT_EQ(content(base_ / "validation.csv"), "step,epoch,skill,z\n2,1.00000,0.1,1\n");
  RunLog(base_, 0).validation(2, 1, {{"skill", 0.3}, {"z", 1}});  // resumed at its end
  EXPECT_EQ(content(base_ / "validation.csv"), "step,epoch,skill,z\n2,1.00000,0.3,1\n");
  fs::remove(base_ / "plots/validation.svg");
  plot_run(base_);  // one point is no curve
  EXPECT_FALSE(fs::exists(base_ / "plots/validation.svg"));
}

TEST_F(RunFolder, ARunThatNeverBeganIsForgotten) {
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

TEST(Progress, SaysWhatAPersonWants) {
  ProgressState state{320, 1024, 1.25, 4, 0.18321, 1210, 153e9, 1275e9, 0.008, 125};
  EXPECT_EQ(progress_text(state),
            "epoch 1.25/4  step 320/1024  loss 0.1832  1210 samples/s  153 GFLOP/s (12 % of peak)  "
            "comm 0.8 %  2:05 left");
  state.peak_flops = 80e9;
  EXPECT_THAT(progress_text(state), HasSubstr("  153 GFLOP/s (1.9 times a matrix product)  comm"));
  const Metrics metrics = {{"a", 0.12345}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}};
  EXPECT_EQ(evaluation_text("epoch 3", metrics, true),
            "epoch 3:  a 0.1235  b 2  c 3  d 4  (best so far)");
  EXPECT_EQ(evaluation_text("test", {}, false), "test:");
  EXPECT_EQ(judged_text("epoch 3", 40, 400, 83), "epoch 3:  40 of 400 samples judged, 12:27 left");
  RunPlan plan{7504835, 4000, 100, 2, 4.188e12, 200e9};
  EXPECT_EQ(plan_text(plan),
            "7504835 parameters, 4188 GFLOP for a sample; 4000 samples, 100 steps of 2\n");
  plan.steps = 1;
  EXPECT_THAT(plan_text(plan), HasSubstr("4000 samples, 1 step of 2\n"));
  plan.flops_per_sample = 11.38e12;
  EXPECT_THAT(plan_text(plan), HasSubstr(" 11380 GFLOP for a sample"));
  plan.flops_per_sample = 4.188e12;
  plan.steps = 120000;
  EXPECT_THAT(plan_text(plan),
              HasSubstr("200 GFLOP/s, that takes 58 days, a step 41.9 s. `epochs`"));
  EXPECT_EQ(duration_text(7), "0:07");
  EXPECT_EQ(duration_text(3 * 3600 + 245), "3:04:05");
  EXPECT_EQ(duration_text(-1), "0:00");
  EXPECT_EQ(duration_text(50 * 3600), "50:00:00");
  EXPECT_EQ(duration_text(119.3 * 86400), "119 days");
  EXPECT_EQ(duration_text(1250 * 86400), "3.4 years");
}

}  // namespace
}  // namespace tutti::train
