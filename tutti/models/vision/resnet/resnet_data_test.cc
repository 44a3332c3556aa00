// Images, their files and the confusion matrix.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <fstream>
#include <numeric>

#include "tutti/core/error.h"
#include "tutti/models/vision/resnet/case.h"
#include "tutti/models/vision/resnet/images.h"
#include "tutti/models/vision/resnet/metric.h"

namespace tutti::models::resnet {
namespace {

namespace fs = std::filesystem;

fs::path temporary_folder() {
  std::string form = fs::temp_directory_path() / "resnet-XXXXXX";
  return mkdtemp(form.data());
}

// Colours must not reveal the class: shapes differ in brightness only by their areas, and less than images of one shape
// do.
TEST(ResnetImages, ColoursSayLittleAboutTheShape) {
  Random random(1);
  const int side = 16, each = 300;
  std::vector<double> mean(kShapes);
  double squares = 0;
  for (int shape = 0; shape < kShapes; ++shape)
    for (int i = 0; i < each; ++i) {
      const auto image = draw_image(shape, side, random);
      ASSERT_EQ(image.size(), std::size_t{3 * side * side});
      const double value = std::accumulate(image.begin(), image.end(), 0.0) / double(image.size());
      mean[static_cast<std::size_t>(shape)] += value / each;
      squares += (value - 127.5) * (value - 127.5) / (each * kShapes);
    }
  EXPECT_GT(std::sqrt(squares), 20);
  const auto [least, most] = std::minmax_element(mean.begin(), mean.end());
  EXPECT_LT(*most - *least, 30);
  EXPECT_NEAR(std::accumulate(mean.begin(), mean.end(), 0.0) / kShapes, 110, 15);
}

TEST(ResnetImages, SameSeedSameImageOtherSeedAnother) {
  Random a(7), b(7), c(8);
  const auto first = draw_image(4, 32, a);
  EXPECT_EQ(first, draw_image(4, 32, b));
  EXPECT_NE(first, draw_image(4, 32, c));
}

TEST(ResnetFiles, DoNotDependOnTheNumberOfRanks) {
  const fs::path folder = temporary_folder();
  const ImagePlan plan{.side = 8, .train = 20, .test = 10, .val = 6, .files = 2, .val_files = 2};
  generate(folder / "one", plan, 0, 1);
  for (int rank = 0; rank < 3; ++rank) generate(folder / "three", plan, rank, 3);
  for (const auto& [name, images] : {std::pair("train", 20), {"test", 10}, {"val-6-", 6}}) {
    ImageSet one = read_images(folder / "one", name), three = read_images(folder / "three", name);
    for (std::int64_t i = 0; i < one.size(); ++i) EXPECT_EQ(one.image(i), three.image(i));
    EXPECT_EQ(one.labels(), three.labels());
    EXPECT_EQ(one.side(), 8);
    EXPECT_EQ(one.size(), images);
  }
  EXPECT_EQ(read_images(folder / "one", "train-001.h5").size(), 10);
  EXPECT_THROW(read_images(folder, "train"), IoError);
  fs::remove_all(folder);
}

// A hundred thousand images of 224 x 224 are 15 GB, on every rank.
TEST(ResnetFiles, AreCachedWithinTheBudget) {
  const fs::path folder = temporary_folder();
  generate(folder, {.side = 8, .train = 10, .test = 10}, 0, 1);
  train::SampleCacheBudget budget(2.5 * 192);
  ImageSet set = read_images(folder, "train", &budget);
  const Image first = set.image(0), third = set.image(2);
  set.image(4);
  EXPECT_FALSE(budget.take(192));
  EXPECT_TRUE(budget.take(96));
  fs::remove_all(folder);  // the file stays open
  EXPECT_EQ(set.image(0), first);
  EXPECT_EQ(set.image(2), third);
  EXPECT_NE(set.image(4), first);
}

TEST(ResnetFiles, ReadsCifar) {
  const fs::path folder = temporary_folder();
  auto write = [&](const char* name, int records) {
    std::ofstream file(folder / name, std::ios::binary);
    for (int i = 0; i < records; ++i) {
      std::string record(3073, static_cast<char>(i));
      record[0] = static_cast<char>(i % 10);
      record[1 + 1024] = '\xff';  // the first green pixel
      file << record;
    }
  };
  write("data_batch_1.bin", 3);
  write("data_batch_2.bin", 2);
  write("test_batch.bin", 1);
  ImageSet train = read_images(folder, "train");
  EXPECT_EQ(train.labels(), (std::vector<std::int64_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(read_images(folder, "test").size(), 1);
  std::vector<float> batch(2 * 3072);
  fill_batch(train, std::vector<std::int64_t>{2, 0}, false, batch.data());
  EXPECT_EQ(batch[0], 2);
  EXPECT_EQ(batch[1], 255);
  EXPECT_EQ(batch[3072], 0);
  std::ofstream(folder / "data_batch_3.bin") << "short";
  EXPECT_THROW(read_images(folder, "train"), IoError);
  fs::remove_all(folder);
}

TEST(ResnetFiles, BatchesAreScaledAndMoved) {
  ImageSet set;
  Image image(192);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::uint8_t(i % 64);
  for (std::int64_t label : {0, 1}) set.add(image, label);
  const ChannelScale scale = scale_of(set);
  EXPECT_NEAR(scale.mean[2], 31.5, 1e-4);
  EXPECT_NEAR(scale.deviation[2], std::sqrt((64 * 64 - 1) / 12.0), 1e-3);
  const std::vector<std::int64_t> indices = {0, 1};
  std::vector<float> plain(384), moved(384), again(384);
  fill_batch(set, indices, false, plain.data());
  fill_batch(set, indices, true, moved.data());
  fill_batch(set, indices, true, again.data());
  EXPECT_EQ(moved, again);
  EXPECT_NE(plain, moved);
  EXPECT_EQ(plain[3 * 9], 9);  // second row, second column
  // An image that is shifted by at most one pixel and flipped still has its middle columns.
  EXPECT_LE(*std::max_element(moved.begin(), moved.end()), 63);
}

TEST(ResnetMetric, CountsByHand) {
  Confusion confusion(6);
  using Best = std::vector<std::int64_t>;
  confusion.add(0, Best{0, 1, 2, 3, 4});
  confusion.add(1, Best{0, 1, 2, 3, 4});
  confusion.add(5, Best{0, 1, 2, 3, 4});
  confusion.add(2, Best{2, 1, 0, 3, 4});
  EXPECT_DOUBLE_EQ(confusion.top1(), 0.5);
  EXPECT_DOUBLE_EQ(confusion.top1_error(), 0.25);
  EXPECT_DOUBLE_EQ(confusion.top5(), 0.75);
  const std::string plot = class_plot(confusion, true);
  EXPECT_NE(plot.find("50.0 % of 4"), std::string::npos);
  EXPECT_NE(plot.find("ring (or disc: 100 %)"), std::string::npos);
  ImageSet wrong;
  wrong.add(Image(3), 7);
  EXPECT_THROW(check_labels(wrong, 6), IoError);
  EXPECT_EQ(Confusion(2).top1(), 0);
}

TEST(ResnetCase, SizesResolve) {
  const OptionTable table = case_info().table();
  for (const char* size : {"tiny", "small", "paper"})
    EXPECT_GT(train::resolve(case_info(), table, {{"size", size}}).integer("depth"), 7);
}

}  // namespace
}  // namespace tutti::models::resnet
