// Files of frames, and the overlap of classes.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <numeric>

#include "tutti/core/error.h"
#include "tutti/models/science/climate_segment/case.h"
#include "tutti/models/science/climate_segment/frames.h"
#include "tutti/models/science/climate_segment/metric.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::climate_segment {
namespace {

namespace fs = std::filesystem;

TEST(SegmentFrames, HaveThePublishedLayoutWhateverTheRanks) {
  std::string form = fs::temp_directory_path() / "segment-XXXXXX";
  const fs::path folder = mkdtemp(form.data());
  const FramePlan plan{{32, 48}, 3, 1};
  generate(folder / "one", plan, 0, 1);
  for (int rank = 0; rank < 3; ++rank) generate(folder / "three", plan, rank, 3);
  const FrameFiles one(folder / "one", "train"), three(folder / "three", "train");
  ASSERT_EQ(one.size(), 3);
  ASSERT_EQ(one.grid().columns, 48);
  std::vector<float> a(32 * 48 * 16), b = a;
  std::vector<std::uint8_t> labels(32 * 48), again = labels;
  for (std::int64_t i = 0; i < 3; ++i) {
    one.read(i, a, labels);
    three.read(i, b, again);
    EXPECT_EQ(a, b);
    EXPECT_EQ(labels, again);
  }
  EXPECT_EQ(one.truth(0).size(), labels.size());
  const train::H5File file(folder / "one" / "test-00000.h5", train::H5File::Mode::kRead);
  EXPECT_EQ(file.shape("climate/data"), (std::vector<std::int64_t>{32, 48, 16}));
  EXPECT_EQ(file.shape("climate/labels_1"), (std::vector<std::int64_t>{32, 48}));
  EXPECT_EQ(file.shape("climate/stats"), (std::vector<std::int64_t>{16, 4}));
  // Its own statistics describe the data.
  const FrameFiles single(folder / "one", "test-00000.h5");
  ASSERT_EQ(single.size(), 1);
  single.read(0, a, labels);
  double mean = 0;
  for (std::size_t i = climate::kPSL; i < a.size(); i += 16) mean += a[i] / (32 * 48);
  EXPECT_NEAR(single.scale().mean[climate::kPSL], mean, 1);
  EXPECT_GT(single.scale().deviation[climate::kPSL], 100);
  const auto shares = one.frequencies();
  EXPECT_NEAR(shares[0] + shares[1] + shares[2], 1, 1e-9);
  fs::create_directories(folder / "sorted" / "train");
  fs::copy(folder / "one" / "train-00000.h5", folder / "sorted" / "train" / "data-1979.h5");
  EXPECT_EQ(FrameFiles(folder / "sorted", "train").size(), 1);
  EXPECT_THROW(FrameFiles(folder / "sorted", "test"), IoError);
  fs::remove_all(folder);
}

// Published files have labels but not the generated storms.
TEST(SegmentFrames, KnowWhetherTheyHaveTheTruth) {
  std::string form = fs::temp_directory_path() / "segment-XXXXXX";
  const fs::path folder = mkdtemp(form.data());
  generate(folder, {{32, 48}, 1, 1}, 0, 1);
  {
    const train::H5File ours(folder / "train-00000.h5", train::H5File::Mode::kRead);
    train::H5File others(folder / "others.h5", train::H5File::Mode::kCreate);
    for (const char* name :
         {"climate/data", "climate/labels_0", "climate/labels_1", "climate/stats"}) {
      const std::vector<std::int64_t> shape = ours.shape(name), row(shape.begin() + 1, shape.end());
      std::vector<float> values(static_cast<std::size_t>(
          std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies())));
      ours.read(name, 0, shape[0], values);
      others.append(name, row, values);
    }
    others.close();
  }
  const FrameFiles ours(folder, "train"), others(folder, "others.h5");
  EXPECT_TRUE(ours.has_truth());
  EXPECT_FALSE(others.has_truth());
  EXPECT_TRUE(others.truth(0).empty());
  std::vector<float> a(32 * 48 * 16), b = a;
  std::vector<std::uint8_t> labels(32 * 48), again = labels;
  ours.read(0, a, labels);
  others.read(0, b, again);
  EXPECT_EQ(a, b);
  EXPECT_EQ(labels, again);
  EXPECT_EQ(ours.scale().deviation, others.scale().deviation);
  fs::remove_all(folder);
}

TEST(SegmentMetric, OverlapByHand) {
  Overlap overlap;
  overlap.add(std::vector<std::uint8_t>{0, 0, 1, 1, 2, 2},
              std::vector<std::uint8_t>{0, 1, 1, 1, 2, 0});
  EXPECT_DOUBLE_EQ(overlap.iou(0), 1.0 / 3);
  EXPECT_DOUBLE_EQ(overlap.iou(1), 2.0 / 3);
  EXPECT_DOUBLE_EQ(overlap.iou(2), 1.0 / 2);
  EXPECT_DOUBLE_EQ(overlap.mean_iou(), 0.5);
  EXPECT_DOUBLE_EQ(overlap.accuracy(), 4.0 / 6);
  EXPECT_DOUBLE_EQ(Overlap().iou(1), 1);
}

// The published "frequencies" are the square roots of the fractions; weights are their inverses.
TEST(SegmentMetric, WeightsAreThePublishedOnes) {
  const std::array<double, 3> shares = {0.982, 0.0007, 0.017};
  const auto weights = class_weights(Weighting::kInverseSqrt, shares);
  const double sum = 1 / 0.991 + 1 / 0.0266 + 1 / 0.13;
  EXPECT_NEAR(weights[0], 1 / 0.991 / sum, 1e-3);
  EXPECT_NEAR(weights[1], 1 / 0.0266 / sum, 1e-2);
  EXPECT_NEAR(weights[2], 1 / 0.13 / sum, 2e-3);
  EXPECT_FLOAT_EQ(class_weights(Weighting::kNone, shares)[1], 1.f / 3);
  EXPECT_GT(class_weights(Weighting::kInverse, shares)[1], weights[1]);
  EXPECT_LE(class_weights(Weighting::kInverse, {1, 0, 0})[1], 1);
}

TEST(SegmentCase, DefaultsAreThoseOfThePaper) {
  const OptionTable table = case_info().table();
  const Options paper = train::resolve(case_info(), table, {{"size", "paper"}});
  EXPECT_EQ(paper.text("optimizer"), "larc");
  EXPECT_EQ(paper.integer("lag"), 1);
  EXPECT_EQ(paper.integer("rows"), 768);
  EXPECT_EQ(train::resolve(case_info(), table, {}).integer("rows"), 96);
}

}  // namespace
}  // namespace tutti::models::climate_segment
