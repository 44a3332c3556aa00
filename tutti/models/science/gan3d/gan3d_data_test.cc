// Simulated showers compared with published properties of real ones, with fixed seeds.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <numeric>

#include "tutti/core/error.h"
#include "tutti/models/science/gan3d/generate.h"
#include "tutti/models/science/gan3d/metric.h"
#include "tutti/models/science/gan3d/showers.h"

namespace tutti::models::gan3d {
namespace {

namespace fs = std::filesystem;

std::vector<Shape> showers(double energy, int count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Shape> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(shape_of(make_shower(energy, random)));
  return shapes;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}
double spread(const std::vector<double>& values) {
  const double middle = mean(values);
  double squares = 0;
  for (double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / double(values.size() - 1));
}

TEST(Longitudinal, IsAGammaDistribution) {
  const Longitudinal profile{8.0, 5.0};
  EXPECT_EQ(profile.before(0), 0);
  EXPECT_NEAR(profile.before(1000), 1, 1e-12);
  // Against the sum of its density, on both sides of where the formula changes.
  double sum = 0;
  const double step = 1e-3, b = profile.b();
  for (double t = step / 2; t < 20; t += step) {
    sum += step * b * std::pow(b * t, profile.a - 1) * std::exp(-b * t) / std::tgamma(profile.a);
    if (std::fmod(t, 2) < step) {
      EXPECT_NEAR(profile.before(t + step / 2), sum, 1e-6) << t;
    }
  }
  // The density is largest where it says.
  auto density = [&](double t) { return profile.before(t + 0.01) - profile.before(t - 0.01); };
  EXPECT_GT(density(8), density(7.8));
  EXPECT_GT(density(8), density(8.2));
}

// The maximum moves inwards with the logarithm of the energy: by ln(10) X0 for ten times as much.
TEST(Longitudinal, MaximumAndContainment) {
  const double energies[] = {10, 100, 500}, layers[] = {8.4, 11.7, 14.1},
               inside[] = {0.98, 0.93, 0.87};
  for (int i = 0; i < 3; ++i) {
    const Longitudinal profile = mean_longitudinal(energies[i]);
    EXPECT_NEAR(profile.maximum / kLayerDepth, layers[i], 0.06);
    EXPECT_NEAR(profile.before(kSide * kLayerDepth), inside[i], 0.01);
    EXPECT_LT(contained(energies[i]), inside[i]);
    EXPECT_GT(contained(energies[i]), inside[i] - 0.12);
  }
  EXPECT_NEAR(mean_longitudinal(300).maximum - mean_longitudinal(30).maximum, std::log(10), 1e-9);
}

TEST(Longitudinal, FluctuationsAreCorrelated) {
  Random random(1);
  std::vector<double> maxima, as;
  double product = 0;
  const int n = 4000;
  for (int i = 0; i < n; ++i) {
    const Longitudinal drawn = draw_longitudinal(100, random);
    maxima.push_back(std::log(drawn.maximum));
    as.push_back(std::log(drawn.a));
  }
  for (int i = 0; i < n; ++i)
    product += (maxima[static_cast<std::size_t>(i)] - mean(maxima)) *
               (as[static_cast<std::size_t>(i)] - mean(as)) / n;
  const double ln_y = std::log(100 / 0.008);
  EXPECT_NEAR(spread(maxima), 1 / (-2.5 + 1.25 * ln_y), 0.004);
  EXPECT_NEAR(spread(as), 1 / (-0.82 + 0.79 * ln_y), 0.006);
  EXPECT_NEAR(product / spread(maxima) / spread(as), 0.784 - 0.023 * ln_y, 0.04);
}

TEST(Lateral, NarrowsToItsCore) {
  const Lateral early = lateral(100, 0.3), late = lateral(100, 2);
  EXPECT_LT(early.core_radius, late.core_radius);
  EXPECT_GT(early.core, late.core);
  for (const Lateral& profile : {early, late}) {
    EXPECT_EQ(profile.within(0), 0);
    EXPECT_NEAR(profile.within(1e4), 1, 1e-4);
    EXPECT_GT(profile.core, 0);
    EXPECT_LT(profile.core, 1);
  }
}

TEST(Showers, SumIsTheVisibleEnergyWithTheResolutionOfSampling) {
  for (const double energy : {20.0, 100.0, 400.0}) {
    std::vector<double> sums;
    for (const Shape& shape : showers(energy, 400, 7)) sums.push_back(double{shape.sum});
    EXPECT_NEAR(mean(sums) / visible(energy / 100), 1, 0.02) << energy;
    // 17 % / sqrt(E) and 1 %, and what leaks out at the end; more at 400 GeV than at 20.
    const double sampling = std::hypot(kSampling / std::sqrt(energy), kConstant);
    EXPECT_GT(spread(sums) / mean(sums), 0.9 * sampling) << energy;
    EXPECT_LT(spread(sums) / mean(sums), sampling + 0.045) << energy;
  }
}

TEST(Showers, MeanProfilesAreThoseOfTheFormulas) {
  const double energy = 100;
  const std::vector<Shape> all = showers(energy, 400, 3);
  const Longitudinal along = mean_longitudinal(energy);
  double layers[kSide] = {}, columns[kSide] = {}, sum = 0, radius = 0;
  for (const Shape& shape : all) {
    sum += double{shape.sum};
    for (std::size_t i = 0; i < kSide; ++i) {
      layers[i] += double{shape.profiles[2][i]};
      columns[i] += double{shape.profiles[0][i]};
    }
    EXPECT_NEAR(shape.centre(0), 12, 1.2);
    EXPECT_NEAR(shape.centre(1), 12, 1.2);
    radius += shape.width(0) / double(all.size());
  }
  for (int layer = 4; layer < 22; ++layer) {
    const double expected =
        (along.before((layer + 1) * kLayerDepth) - along.before(layer * kLayerDepth)) /
        along.before(kSide * kLayerDepth);
    EXPECT_NEAR(layers[layer] / sum, expected, 0.08 * expected + 0.002) << layer;
  }
  // Half of the energy within the three columns in the middle; the same to both sides.
  EXPECT_GT((columns[11] + columns[12] + columns[13]) / sum, 0.5);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(columns[i] / columns[24 - i], 1, 0.15) << i;
  EXPECT_GT(radius, 1);
  EXPECT_LT(radius, 4);
}

TEST(Showers, TheSameSeedGivesTheSame) {
  Random first(5), second(5);
  EXPECT_EQ(make_shower(50, first), make_shower(50, second));
  EXPECT_NE(make_shower(50, first), make_shower(50, first));
}

class ShowerFilesTest : public testing::Test {
 protected:
  ShowerFilesTest() {
    std::string form = fs::temp_directory_path() / "gan3d-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~ShowerFilesTest() override { fs::remove_all(base_); }
  fs::path base_;
};

TEST_F(ShowerFilesTest, AreTheSameForAnyNumberOfRanks) {
  const DataPlan plan{20, 5};
  generate(base_ / "one", plan, 0, 1);
  double done = 0;
  int all = 0;
  for (int rank = 0; rank < 3; ++rank)
    generate(base_ / "three", plan, rank, 3, [&](double d, int a) {
      done = d;
      all = a;
    });
  EXPECT_EQ(done, all);
  ShowerFiles one(base_ / "one", "train"), three(base_ / "three", "train");
  EXPECT_EQ(one.size(), 20);
  EXPECT_EQ(ShowerFiles(base_ / "one", "test").size(), 5);
  const std::vector<std::int64_t> indices = {3, 19, 0};
  std::vector<float> a(3 * kCells), b(3 * kCells);
  one.cells(indices, a.data());
  three.cells(indices, b.data());
  EXPECT_EQ(a, b);
  for (std::int64_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one.energy(i), three.energy(i));
    EXPECT_GE(one.energy(i), kLowest);
    EXPECT_LE(one.energy(i), kHighest);
  }
  EXPECT_GT(std::accumulate(a.begin(), a.end(), 0.f), 0);
}

TEST_F(ShowerFilesTest, ReadThePublishedLayout) {
  // More columns than generated files, among them one more dimension, and cells below the threshold.
  train::H5File file(base_ / "train-published.h5", train::H5File::Mode::kCreate);
  std::vector<float> cells(kCells, 1e-8f);
  cells[100] = 0.5f;
  file.append("ECAL", std::vector<std::int64_t>{kSide, kSide, kSide}, cells);
  file.append("target", std::vector<std::int64_t>{1, 5}, std::vector<float>{11, 250, 0, 0, 250});
  file.close();
  ShowerFiles files(base_, "train");
  EXPECT_EQ(files.size(), 1);
  EXPECT_EQ(files.energy(0), 250);
  std::vector<float> read(kCells);
  files.cells(std::vector<std::int64_t>{0}, read.data());
  EXPECT_EQ(read[100], 0.5f);
  EXPECT_EQ(std::accumulate(read.begin(), read.end(), 0.f), 0.5f);
}

TEST_F(ShowerFilesTest, OtherFilesAreRefused) {
  EXPECT_THROW(ShowerFiles(base_, "train"), IoError);
  train::H5File file(base_ / "train.h5", train::H5File::Mode::kCreate);
  file.append("ECAL", std::vector<std::int64_t>{2, 2, 2}, std::vector<float>(8));
  file.append("target", std::vector<std::int64_t>{2}, std::vector<float>{11, 20});
  file.close();
  EXPECT_THROW(ShowerFiles(base_, "train"), IoError);
  EXPECT_EQ(ShowerFiles(base_, "train", false).energy(0), 20);
}

TEST(Shape, MomentsOfTwoCells) {
  std::vector<float> cells(kCells);
  auto at = [](int x, int y, int z) {
    return static_cast<std::size_t>((x * kSide + y) * kSide + z);
  };
  cells[at(10, 5, 20)] = 3;
  cells[at(14, 5, 20)] = 1;
  cells[at(0, 0, 0)] = 1e-7f;  // below the threshold
  const Shape shape = shape_of(cells);
  EXPECT_EQ(shape.sum, 4);
  EXPECT_DOUBLE_EQ(shape.centre(0), 11);
  EXPECT_DOUBLE_EQ(shape.centre(1), 5);
  EXPECT_DOUBLE_EQ(shape.centre(2), 20);
  EXPECT_NEAR(shape.width(0), std::sqrt(3.0), 1e-12);
  EXPECT_EQ(shape.width(2), 0);
  EXPECT_EQ(std::accumulate(shape.spectrum.begin(), shape.spectrum.end(), 0.f), 2);
}

Comparison compared(int count, double stretch) {
  Random random(11);
  Comparison comparison;
  for (int i = 0; i < count; ++i) {
    const double energy = 60 + 380 * random.uniform();
    comparison.energies.push_back(energy);
    comparison.real.push_back(shape_of(make_shower(energy, random)));
    std::vector<float> cells = make_shower(energy, random);
    for (int layer = 0; layer < kSide; ++layer)  // more energy in late layers
      for (int column = 0; column < kSide * kSide; ++column)
        cells[static_cast<std::size_t>(column * kSide + layer)] *=
            static_cast<float>(1 + stretch * (layer - 12));
    comparison.generated.push_back(shape_of(cells));
  }
  return comparison;
}

TEST(Compare, DetectsDifferences) {
  const Verdict same = compare(compared(400, 0)), other = compare(compared(400, 0.03));
  EXPECT_LT(same.error(), 0.03);
  EXPECT_LT(same.longitudinal, 0.06);
  EXPECT_NEAR(same.separation.value(), 0.5, 0.09);
  EXPECT_NEAR(same.resolution_generated, same.resolution_real, 0.01);
  EXPECT_GT(other.longitudinal, 0.1);
  EXPECT_GT(other.depth, 2 * same.depth);
  EXPECT_LT(other.lateral, other.longitudinal);
  EXPECT_GT(other.separation.value(), 0.7);
  EXPECT_FALSE(separation(compared(10, 0)));  // too few to tell
}

// Showers that all equal the mean have the right profiles, and are separable because they do not vary.
TEST(Compare, SeparatesShowersThatDoNotVary) {
  Comparison comparison = compared(400, 0);
  Shape mean{};
  for (std::size_t i = 0; i < comparison.real.size(); ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t slice = 0; slice < kSide; ++slice)
        mean.profiles[axis][slice] +=
            comparison.real[i].profiles[axis][slice] / comparison.real[i].sum / 400;
  for (std::size_t i = 0; i < comparison.real.size(); ++i) {
    const auto sum = static_cast<float>(visible(comparison.energies[i] / 100));
    comparison.generated[i] = mean;
    comparison.generated[i].sum = sum;
    for (auto& profile : comparison.generated[i].profiles)
      for (float& slice : profile) slice *= sum;
  }
  EXPECT_GT(separation(comparison).value(), 0.95);
}

TEST(Compare, ChartsHaveLinesForBoth) {
  const Comparison comparison = compared(20, 0);
  EXPECT_EQ(profile_chart(comparison, 2).series.size() % 2, 0u);
  for (const plot::Chart& chart : {profile_chart(comparison, 2), profile_chart(comparison, 0),
                                   response_chart(comparison), spectrum_chart(comparison)})
    EXPECT_NE(plot::render_svg(chart).find("GAN"), std::string::npos) << chart.title;
}

}  // namespace
}  // namespace tutti::models::gan3d
