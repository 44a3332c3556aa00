// Tables of the network, synthetic scans, their files and metrics.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <set>

#include "tutti/core/error.h"
#include "tutti/models/vision/unet3d/metric.h"
#include "tutti/models/vision/unet3d/scans.h"
#include "tutti/models/vision/unet3d/shape.h"
#include "tutti/models/vision/unet3d/slices.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::unet3d {
namespace {

namespace fs = std::filesystem;

TEST(UnetShape, CountsAreThoseOfTheTables) {
  const NetworkShape paper;
  EXPECT_EQ(parameter_count(paper), 16318307);
  EXPECT_NEAR(forward_flops(paper) * 1e-12, 3.8, 0.01);
  NetworkShape small{48, 8, 3};
  EXPECT_EQ(parameter_count(small), 246555);
  EXPECT_NEAR(train_flops(small) * 1e-9, 33, 0.3);
  small.has_norm = true;  // two numbers for each filter of 3
  EXPECT_EQ(parameter_count(small), 246555 + 2 * (8 + 3 * 16 + 4 * 32 + 64 + 16));
  small.has_norm = false;
  small.has_deconvolution = true;
  EXPECT_EQ(parameter_count(small), 246555 + 64 * (8 * 64 + 1) + 32 * (8 * 32 + 1));
  EXPECT_THROW(steps_of({50, 8, 3}), ConfigError);
}

TEST(UnetShape, ActivationsAreThoseOfTheTable) {
  for (const auto& [side, gigabytes] : {std::pair(64, 1.0),
                                        {96, 3.4},
                                        {128, 8.0},
                                        {144, 11.4},
                                        {160, 15.7},
                                        {192, 27.1},
                                        {240, 52.9},
                                        {304, 107.5},
                                        {400, 245.0}}) {
    const NetworkShape shape{side, 32, 4};
    EXPECT_NEAR(activation_bytes(shape, false) / std::pow(2, 30), gigabytes,
                side == 304 ? 0.6 : 0.06);
    EXPECT_NEAR(activation_bytes(shape, true) / activation_bytes(shape, false), 1 - 0.29, 0.005);
  }
}

// The input of every step is the output of the previous one.
TEST(UnetShape, PartsFitTogether) {
  const NetworkShape shape{16, 4, 3};
  const std::vector<std::vector<std::pair<int, int>>> expected = {{{4, 16}},
                                                                  {{8, 16}, {8, 8}},
                                                                  {{8, 16}, {16, 8}, {16, 4}},
                                                                  {{8, 16}, {16, 8}, {32, 4}},
                                                                  {{8, 16}, {16, 8}},
                                                                  {{8, 16}}};
  for (int step = 0; step < 6; ++step) {
    std::vector<std::pair<int, int>> parts;
    for (const Part& part : parts_before(shape, step)) parts.emplace_back(part.channels, part.side);
    EXPECT_EQ(parts, expected[std::size_t(step)]) << step;
  }
}

struct Brightness {
  double sum = 0, squares = 0, count = 0;
  void add(double value) {
    sum += value;
    squares += value * value;
    count += 1;
  }
  double mean() const { return sum / count; }
  double spread() const { return std::sqrt(squares / count - mean() * mean()); }
};

TEST(Head, TumoursLookAsTheyShould) {
  Random random(5);
  constexpr int kSide = 32, kVoxels = kSide * kSide * kSide, kHeads = 12;
  double shares[5] = {};
  for (int i = 0; i < kHeads; ++i) {
    const Scan scan = make_scan(kSide, random);
    ASSERT_EQ(scan.labels.size(), std::size_t(kVoxels));
    Brightness by_label[kModalities][5];
    for (std::size_t v = 0; v < kVoxels; ++v) {
      const std::uint8_t label = scan.labels[v];
      ASSERT_TRUE(label <= 4 && label != 3);
      shares[label] += 1.0 / kVoxels / kHeads;
      for (std::size_t m = 0; m < kModalities; ++m)
        by_label[m][label].add(scan.images[m * kVoxels + v]);
    }
    for (int label : {kNecrosis, kOedema, kEnhancing}) ASSERT_GT(by_label[0][label].count, 0) << i;
    // Oedema is brightest in flair, the rim in t1ce, and necrosis is dark beside the rim there.
    EXPECT_GT(by_label[kFlair][kOedema].mean(), 1.2 * by_label[kFlair][kHealthy].mean());
    EXPECT_GT(by_label[kT1ce][kEnhancing].mean(), 1.3 * by_label[kT1ce][kOedema].mean());
    EXPECT_GT(by_label[kT1ce][kEnhancing].mean(), 2 * by_label[kT1ce][kNecrosis].mean());
    EXPECT_LT(by_label[kT1][kEnhancing].mean(), by_label[kT1ce][kEnhancing].mean() * 2);
  }
  // Parts of the box that ellipsoids of the drawn sizes fill.
  EXPECT_NEAR(shares[kHealthy], 0.982, 0.01);
  EXPECT_GT(shares[kOedema], shares[kEnhancing]);
  EXPECT_GT(shares[kEnhancing], 0.0008);
  EXPECT_GT(shares[kNecrosis], 0.0005);
}

// In the corners there is only noise: magnitudes of complex numbers, with Rayleigh's distribution.
TEST(Head, NoiseIsThatOfMagnitudes) {
  Random random(6);
  constexpr std::size_t kSide = 32, kVoxels = kSide * kSide * kSide;
  const Scan scan = make_scan(kSide, random);
  for (std::size_t m = 0; m < kModalities; ++m) {
    Brightness corner;
    for (std::size_t v = 0; v < kVoxels; ++v)
      if (v / (kSide * kSide) < 6 && v / kSide % kSide < 6 && v % kSide < 6)
        corner.add(scan.images[m * kVoxels + v]);
    EXPECT_EQ(corner.count, 216);
    EXPECT_NEAR(corner.mean() / corner.spread(), 1.913, 0.25);
  }
}

class ScanFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("unet3d-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(ScanFolder, FilesAreTheSameForEveryNumberOfRanks) {
  const ScanPlan plan{8, 4, 2, 2};
  double files = -1;
  generate(folder_ / "one", plan, 0, 1, [&](double done, int all) {
    EXPECT_EQ(all, 8);
    EXPECT_EQ(done, ++files);
  });
  for (int rank = 0; rank < 3; ++rank) generate(folder_ / "three", plan, rank, 3);
  std::set<std::vector<float>> seen;
  for (const char* kind : {"train", "test", "val-2-"}) {
    const ScanFiles one(folder_ / "one", kind, 8), three(folder_ / "three", kind, 8);
    ASSERT_EQ(one.size(), kind[1] == 'r' ? 4 : 2);
    ASSERT_EQ(three.size(), one.size());
    for (std::int64_t i = 0; i < one.size(); ++i) {
      const Scan a = one.read(i), b = three.read(i);
      EXPECT_EQ(a.images, b.images);
      EXPECT_EQ(a.labels, b.labels);
      seen.insert(a.images);
    }
  }
  EXPECT_EQ(seen.size(), 8u);
}

TEST_F(ScanFolder, FilesOfManyHeadsAndOfOtherShapes) {
  {
    train::H5File file(folder_ / "train.h5", train::H5File::Mode::kCreate);
    std::vector<float> data(3 * 4 * 8), truth(3 * 8);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
    truth[2 * 8 + 3] = 4;
    file.append("data", std::vector<std::int64_t>{4, 2, 2, 2}, data);
    file.append("truth", std::vector<std::int64_t>{1, 2, 2, 2}, truth);
    file.close();
  }
  const ScanFiles files(folder_, "train", 2);
  ASSERT_EQ(files.size(), 3);
  EXPECT_EQ(files.read(2).images[0], 64);
  EXPECT_EQ(files.read(2).labels[3], kEnhancing);
  EXPECT_THROW(ScanFiles(folder_, "train", 4), IoError);
  {
    train::H5File file(folder_ / "bare.h5", train::H5File::Mode::kCreate);
    file.append("data", std::vector<std::int64_t>{4, 2, 2, 2}, std::vector<float>(32));
    file.close();
  }
  EXPECT_THROW(ScanFiles(folder_, "bare", 2), IoError);
  EXPECT_EQ(ScanFiles(folder_, "bare", 2, false).read(0).labels, std::vector<std::uint8_t>(8));
  EXPECT_THROW(ScanFiles(folder_, "none", 2), IoError);
}

TEST(UnetMetric, RegionsAreNested) {
  const std::vector<std::uint8_t> truth = {0, 1, 2, 4, 4, 0}, found = {0, 4, 2, 4, 0, 1};
  EXPECT_EQ(overlap(0, truth, found).both, 3);
  EXPECT_DOUBLE_EQ(overlap(0, truth, found).dice(), 2 * 3 / 8.0);
  EXPECT_DOUBLE_EQ(overlap(1, truth, found).dice(), 2 * 2 / 6.0);
  EXPECT_DOUBLE_EQ(overlap(2, truth, found).dice(), 2 * 1 / 4.0);
  EXPECT_EQ(overlap(2, truth, truth).dice(), 1);
  EXPECT_EQ(Overlap{}.dice(), 1);
  for (std::uint8_t label : {0, 1, 2, 4})
    for (int region = 1; region < kRegions; ++region)
      EXPECT_TRUE(!is_in_region(region, label) || is_in_region(region - 1, label));
}

// The rim is where t1ce is bright; flair is bright in all of the tumour and, less, elsewhere.
TEST(UnetMetric, TheBestThresholdIsFound) {
  std::vector<std::uint8_t> truth(1000);
  std::vector<float> images(4000);
  Random random(1);
  for (std::size_t i = 0; i < 1000; ++i) {
    truth[i] = i < 20 ? kEnhancing : i < 60 ? kOedema : kHealthy;
    images[1000 + i] = static_cast<float>(100 + (i < 20 ? 50 : 0) + random.gaussian());
    images[2000 + i] = static_cast<float>(700 + (i < 60 ? 90 : 0) + 20 * random.gaussian());
  }
  ThresholdSearch search;
  search.add(images, truth);
  const Threshold whole = search.best(0), rim = search.best(2);
  EXPECT_EQ(whole.modality, kFlair);
  EXPECT_EQ(rim.modality, kT1ce);
  EXPECT_EQ(overlap(2, rim, images, truth).dice(), 1);
  EXPECT_GT(overlap(0, whole, images, truth).dice(), 0.85);
  EXPECT_LT(overlap(0, {kFlair, -3}, images, truth).dice(), 0.2);  // everything
}

TEST(UnetSlices, ShowTheTumour) {
  Random random(2);
  Scan scan = make_scan(16, random);
  const std::vector<std::uint8_t> nothing(scan.labels.size());
  const std::string text = slices_svg(16, {{scan, nothing}});
  auto count = [&](const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<g "), 3);
  EXPECT_EQ(count("stroke=\"#1f77b4\""), 1);  // oedema in the truth only
  EXPECT_EQ(count("oedema"), 1);
}

}  // namespace
}  // namespace tutti::models::unet3d
