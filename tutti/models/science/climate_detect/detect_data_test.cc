// Boxes and their files, by hand.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tutti/core/error.h"
#include "tutti/models/science/climate_detect/case.h"
#include "tutti/models/science/climate_detect/frames.h"

namespace tutti::models::climate_detect {
namespace {

namespace fs = std::filesystem;

TEST(DetectBoxes, DecodeUndoesEncode) {
  const std::vector<Labelled> boxes = {{{10, 20, 14, 52}, 3}, {{70, 100, 76, 101}, 0}};
  const Targets targets = encode(boxes, 12, 18, 8);
  int storms = 0;
  for (int row = 0; row < 12; ++row)
    for (int column = 0; column < 18; ++column) {
      const std::size_t i = static_cast<std::size_t>(row * 18 + column);
      if (targets.has_storm[i] == 0) continue;
      const Labelled& expected = boxes[static_cast<std::size_t>(storms++)];
      const float encoded[] = {targets.boxes[i], targets.boxes[216 + i], targets.boxes[432 + i],
                               targets.boxes[648 + i]};
      const Box box = decode(row, column, encoded, 8);
      EXPECT_NEAR(box.row_min, expected.box.row_min, 1e-4);
      EXPECT_NEAR(box.column_min, expected.box.column_min, 1e-4);
      EXPECT_NEAR(box.row_max, expected.box.row_max, 1e-4);
      EXPECT_NEAR(box.column_max, expected.box.column_max, 1e-4);
      EXPECT_EQ(targets.kind[i], expected.kind);
    }
  EXPECT_EQ(storms, 2);
  EXPECT_FLOAT_EQ(targets.boxes[432 + 1 * 18 + 4], 2);  // 32 wide: four cells, log2 is 2
  EXPECT_EQ(encode(std::vector<Labelled>{{{200, 0, 210, 10}, 0}}, 12, 18, 8).has_storm,
            std::vector<float>(216));
}

TEST(DetectBoxes, Overlap) {
  EXPECT_DOUBLE_EQ(overlap({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0 / 7);
  EXPECT_DOUBLE_EQ(overlap({0, 0, 2, 2}, {0, 0, 2, 2}), 1);
  EXPECT_DOUBLE_EQ(overlap({0, 0, 2, 2}, {2, 2, 3, 3}), 0);
}

// Two storms in two frames; right, wrong, right in order of the score: precision 1, 1/2, 2/3.
TEST(DetectBoxes, AveragePrecisionByHand) {
  const Box a{0, 0, 4, 4}, b{10, 10, 14, 14};
  std::vector<Scene> scenes = {{{{a, 1}}, {{a, 1, 0.9f}, {b, 1, 0.8f}}},
                               {{{b, 1}}, {{b, 1, 0.7f}, {b, 1, 0.6f}}}};
  EXPECT_DOUBLE_EQ(average_precision(scenes, 1, 0.5), 0.5 * 1 + 0.5 * 2 / 3);
  EXPECT_EQ(average_precision(scenes, 0, 0.5), -1);
  EXPECT_DOUBLE_EQ(mean_average_precision(scenes, 0.5), 5.0 / 6);
  scenes[1].truth.push_back({a, 2});  // one kind more, never found
  EXPECT_DOUBLE_EQ(mean_average_precision(scenes, 0.5), 5.0 / 12);
  scenes[0].found[0].kind = 2;  // the right place but the wrong kind
  EXPECT_LT(average_precision(scenes, 1, 0.5), 0.5);
  EXPECT_EQ(mean_average_precision({}, 0.5), 0);
}

TEST(DetectFrames, HaveThePublishedLayoutWhateverTheRanks) {
  std::string form = fs::temp_directory_path() / "detect-XXXXXX";
  const fs::path folder = mkdtemp(form.data());
  const FramePlan plan{32, 32, 23, 2};
  generate(folder / "one", plan, 0, 1);
  for (int rank = 0; rank < 2; ++rank) generate(folder / "two", plan, rank, 2);
  const FrameFiles one(folder / "one", "train"), two(folder / "two", "train");
  ASSERT_EQ(one.size(), 23);
  ASSERT_EQ(one.columns(), 32);
  std::vector<float> a(16 * 32 * 32), b = a;
  std::size_t storms = 0;
  for (std::int64_t i : {0, 20, 22}) {
    one.image(i, a);
    two.image(i, b);
    EXPECT_EQ(a, b);
    ASSERT_EQ(one.boxes(i).size(), two.boxes(i).size());
  }
  for (std::int64_t i = 0; i < one.size(); ++i) {
    storms += one.boxes(i).size();
    for (const Labelled& box : one.boxes(i)) EXPECT_LE(box.box.column_max, 32);
  }
  EXPECT_NEAR(double(storms) / 23, 8, 3);  // two thirds of twelve
  std::vector<float> mean(16), deviation(16);
  one.scale(mean, deviation);
  EXPECT_NEAR(mean[2], 101200, 400);  // PSL is the third
  EXPECT_GT(deviation[2], 200);
  EXPECT_NEAR(mean[6], 17, 4);  // TMQ
  const train::H5File file(folder / "one" / "test-0000.h5", train::H5File::Mode::kRead);
  EXPECT_EQ(file.shape("images"), (std::vector<std::int64_t>{2, 16, 32, 32}));
  EXPECT_EQ(file.shape("boxes"), (std::vector<std::int64_t>{2, 15, 5}));
  EXPECT_THROW(FrameFiles(folder, "train"), IoError);
  fs::remove_all(folder);
}

TEST(DetectCase, SizesResolve) {
  const OptionTable table = case_info().table();
  EXPECT_EQ(train::resolve(case_info(), table, {{"size", "paper"}}).integer("halvings"), 5);
  EXPECT_EQ(train::resolve(case_info(), table, {}).number("labelled"), 0.1);
}

}  // namespace
}  // namespace tutti::models::climate_detect
