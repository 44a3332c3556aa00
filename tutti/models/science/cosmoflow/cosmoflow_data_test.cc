// Synthetic universes compared with theory.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tutti/core/error.h"
#include "tutti/core/random.h"
#include "tutti/models/science/cosmoflow/generate.h"
#include "tutti/models/science/cosmoflow/metric.h"
#include "tutti/models/science/cosmoflow/volumes.h"
#include "tutti/train/optim/schedule.h"

namespace tutti::models::cosmoflow {
namespace {

namespace fs = std::filesystem;
using Complex = CubeFft::Complex;

TEST(CubeFft, MatchesTheDefinition) {
  const int n = 8;
  const CubeFft fft(n);
  Random random(1);
  Field field(n * n * n);
  for (Complex& x : field)
    x = {static_cast<float>(random.gaussian()), static_cast<float>(random.gaussian())};
  Field modes = field;
  fft.forward(modes);
  for (const auto& [kx, ky, kz] : {std::array{0, 0, 0}, {1, 0, 0}, {3, 7, 2}}) {
    std::complex<double> sum = 0;
    for (int i = 0; i < n * n * n; ++i) {
      const double angle =
          -2 * std::numbers::pi / n * (kx * (i / (n * n)) + ky * (i / n % n) + kz * (i % n));
      sum += std::complex<double>(field[std::size_t(i)]) * std::polar(1.0, angle);
    }
    const Complex ours = modes[std::size_t((kx * n + ky) * n + kz)];
    EXPECT_NEAR(ours.real(), sum.real(), 1e-4);
    EXPECT_NEAR(ours.imag(), sum.imag(), 1e-4);
  }
  fft.inverse(modes);
  for (std::size_t i = 0; i < field.size(); ++i)
    EXPECT_NEAR(std::abs(modes[i] - field[i]), 0, 1e-5);
  EXPECT_THROW(CubeFft(12), ConfigError);
}

TEST(Cosmology, SpectrumHasThePublishedValues) {
  const PowerSpectrum spectrum({0.3, 0.8, 0.96, 0.7, 0.045});
  EXPECT_NEAR(spectrum(0.01), 20800, 200);
  EXPECT_NEAR(spectrum(0.1), 5620, 60);
  EXPECT_NEAR(spectrum(1), 63, 1);
  EXPECT_EQ(spectrum(0), 0);
}

TEST(Cosmology, GrowthWithoutVacuumIsTheScaleFactor) {
  Cosmology flat;
  flat.omega_m = 1;
  EXPECT_NEAR(growth(flat, 0).first, 1, 1e-12);
  EXPECT_NEAR(growth(flat, 3).first, 0.25, 1e-9);
  EXPECT_NEAR(growth(flat, 0).second, -3.0 / 7, 1e-9);
  EXPECT_GT(growth({}, 1).first, 0.5);  // vacuum slows growth down: it was larger before
}

TEST(Universe, LinearPowerIsThatOfTheSpectrum) {
  const CubeFft fft(64);
  const PowerSpectrum spectrum({});
  const double box = 256;
  const auto bins = measure_power(fft, linear_modes(fft, spectrum, box, 7), box);
  int checked = 0;
  for (const PowerBin& bin : bins) {
    // Half of the modes are independent, each with an exponential distribution.
    const double deviation = std::sqrt(2.0 / double(bin.modes));
    EXPECT_NEAR(bin.power / spectrum(bin.k), 1, 4.5 * deviation + 0.02) << bin.k;
    ++checked;
  }
  EXPECT_EQ(checked, 31);
}

// Two crossed waves: first and second order are known in closed form.
TEST(Universe, DisplacementOfCrossedWaves) {
  const int n = 16;
  const double box = 100, k = 2 * std::numbers::pi / box, amplitude = 0.3;
  const CubeFft fft(n);
  Field modes(n * n * n);
  auto angle = [&](int i) { return 2 * std::numbers::pi * i / n; };
  for (int i = 0; i < n * n * n; ++i)
    modes[std::size_t(i)] =
        static_cast<float>(amplitude * (std::cos(angle(i / (n * n))) + std::cos(angle(i / n % n))));
  fft.forward(modes);
  const Growth growth{0.8, -0.3};
  const auto moved = Displacement(fft, modes, box).at(growth);
  for (int i = 0; i < n * n * n; ++i) {
    const double x = angle(i / (n * n)), y = angle(i / n % n);
    const double first = -growth.first * amplitude * std::sin(x) / k,
                 second =
                     growth.second * amplitude * amplitude * std::sin(x) * std::cos(y) / (2 * k);
    EXPECT_NEAR(moved[0][std::size_t(i)], first + second, 1e-4);
    EXPECT_NEAR(moved[2][std::size_t(i)], 0, 1e-4);
  }
}

TEST(Universe, DepositKeepsMassAndUnmovedMatterIsEven) {
  const int n = 8;
  std::array<std::vector<float>, 3> still;
  for (auto& axis : still) axis.assign(n * n * n, 0);
  for (Deposit deposit : {Deposit::kCloud, Deposit::kNearest})
    for (int cells : {4, 8})
      for (float x : density(still, n, 80, cells, deposit)) EXPECT_NEAR(x, 1, 1e-5);
  Random random(3);
  for (auto& axis : still)
    for (float& x : axis) x = static_cast<float>(100 * random.gaussian());
  for (Deposit deposit : {Deposit::kCloud, Deposit::kNearest}) {
    double sum = 0;
    for (float x : density(still, n, 80, n, deposit)) sum += double(x);
    EXPECT_NEAR(sum, n * n * n, 1e-2);
  }
}

TEST(Universe, GrownPowerIsLinearOnLargeScalesAndRisesWithSigma8) {
  UniversePlan plan;
  plan.box = 512;
  const CubeFft fft(64);
  double variance[2];
  for (int i = 0; i < 2; ++i) {
    Cosmology cosmology;
    cosmology.sigma_8 = i == 0 ? 0.78 : 0.95;
    const std::vector<float> grid = make_universe(cosmology, plan, 5)[0];
    variance[i] = 0;
    for (float x : grid) variance[i] += (double(x) - 1) * (double(x) - 1) / double(grid.size());
    Field modes(grid.begin(), grid.end());
    fft.forward(modes);
    const auto grown = measure_power(fft, modes, plan.box),
               linear = measure_power(fft, linear_modes(fft, PowerSpectrum(cosmology), plan.box, 5),
                                      plan.box);
    for (std::size_t bin = 0; bin < 4; ++bin)
      EXPECT_NEAR(grown[bin].power / linear[bin].power, 1, 0.12) << bin;
  }
  EXPECT_GT(variance[1], 1.15 * variance[0]);
  EXPECT_EQ(make_universe({}, plan, 5)[0], make_universe({}, plan, 5)[0]);
}

class CosmoflowFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("cosmoflow-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(CosmoflowFiles, AreTheSameForEveryNumberOfRanks) {
  DataPlan plan;
  plan.variant = Variant::kMlperf;
  plan.universe = {64, 16, 16, {0, 3}, Deposit::kCloud};
  plan.cuts = 2;
  plan.train_universes = 3;
  plan.test_universes = 1;
  generate(folder_ / "one", plan, 0, 1);
  for (int rank = 0; rank < 3; ++rank) generate(folder_ / "three", plan, rank, 3);
  VolumeFiles one(folder_ / "one", "train", Variant::kMlperf, 8, 2),
      three(folder_ / "three", "train", Variant::kMlperf, 8, 2);
  ASSERT_EQ(one.size(), 24);
  ASSERT_EQ(three.size(), 24);
  std::vector<std::int64_t> all = {0, 9, 23};
  std::vector<float> a(3 * 2 * 512), b(a.size());
  one.volumes(all, a.data());
  three.volumes(all, b.data());
  EXPECT_EQ(a, b);
  EXPECT_EQ(one.truth(9), three.truth(9));
  EXPECT_EQ(one.truth(8), one.truth(9));  // of the same universe
  EXPECT_NE(one.truth(7), one.truth(8));
  for (std::size_t p = 0; p < 4; ++p) {
    EXPECT_GE(one.truth(9)[p], parameters(Variant::kMlperf)[p].low);
    EXPECT_LE(one.truth(9)[p], parameters(Variant::kMlperf)[p].high);
  }
  EXPECT_THROW(VolumeFiles(folder_ / "one", "train", Variant::kPaper, 8, 2), IoError);
  EXPECT_THROW(VolumeFiles(folder_ / "one", "nothing", Variant::kMlperf, 8, 2), IoError);
}

// The published data set has 400 GB, more than memory and than files a process may have open.
TEST_F(CosmoflowFiles, AreCachedWithinTheBudget) {
  DataPlan plan;
  plan.universe = {64, 8, 8, {0}, Deposit::kCloud};
  plan.train_universes = 3;
  plan.test_universes = 1;
  generate(folder_, plan, 0, 1);
  train::SampleCacheBudget budget(1.5 * 1024);
  VolumeFiles kept(folder_, "train", Variant::kPaper, 8, 1, &budget),
      read(folder_, "train", Variant::kPaper, 8, 1);
  const std::vector<std::int64_t> all = {0, 1, 2};
  std::vector<float> first(3 * 512), again(first.size());
  kept.volumes(all, first.data());
  EXPECT_FALSE(budget.take(1024));
  EXPECT_TRUE(budget.take(512));
  for (VolumeFiles* files : {&kept, &read}) {
    files->volumes(all, again.data());
    EXPECT_EQ(first, again);
  }
}

TEST(CosmoflowPlan, AFileOfThePublishedSizeHoldsFewUniverses) {
  DataPlan plan;
  plan.train_universes = 12432;
  EXPECT_EQ(plan.per_file(), 64);
  plan.universe = {512, 512, 256, {0}, Deposit::kCloud};
  EXPECT_EQ(plan.per_file(), 4);
  EXPECT_NEAR(plan.bytes_to_make() * 1e-9, 4.97, 0.01);
  plan.universe.redshifts = {0, 0.5, 1.5, 3};
  EXPECT_EQ(plan.per_file(), 1);
}

TEST_F(CosmoflowFiles, MlperfFilesAreSplitIntoCubes) {
  {
    train::H5File file(folder_ / "train_universe.hdf5", train::H5File::Mode::kCreate);
    std::vector<float> full(4 * 4 * 4 * 4);
    for (std::size_t i = 0; i < full.size(); ++i) full[i] = static_cast<float>(i);
    file.append("full", std::vector<std::int64_t>{4, 4, 4}, full);
    file.append("unitPar", {}, std::vector<float>{-1, 0, 0.5, 1});
    file.close();
  }
  VolumeFiles files(folder_, "train", Variant::kMlperf, 2, 4);
  ASSERT_EQ(files.size(), 8);
  EXPECT_NEAR(files.truth(0)[0], 0.27, 1e-6);
  EXPECT_NEAR(files.truth(0)[3], 0.77, 1e-6);
  std::vector<float> cube(4 * 8);
  const std::int64_t last = 7;  // begins at (2, 2, 2)
  files.volumes(std::span(&last, 1), cube.data());
  EXPECT_EQ(cube[0], ((2 * 4 + 2) * 4 + 2) * 4);
  EXPECT_EQ(cube[8 + 7], ((3 * 4 + 3) * 4 + 3) * 4 + 1);
}

TEST(CosmoflowMetric, DistinguishesTheMeanFromTheTruth) {
  const auto& wanted = parameters(Variant::kPaper);
  std::vector<Prediction> predictions, means;
  for (int i = 0; i < 100; ++i) {
    std::vector<double> truth;
    for (const Parameter& p : wanted) truth.push_back(p.low + (p.high - p.low) * (i + 0.5) / 100);
    predictions.push_back({truth, truth});
    means.push_back({{0.3, 0.865, 0.95}, truth});
  }
  EXPECT_NEAR(skill(scores(wanted, predictions)), 1, 1e-9);
  EXPECT_NEAR(skill(scores(wanted, means)), 0, 1e-9);
  const std::vector<Prediction> same(8,
                                     {{0.31, 0.8, 0.93}, {0.3, 0.865, 0.95}});  // of one universe
  EXPECT_EQ(skill(scores(wanted, same)), 0);
  EXPECT_NEAR(scores(wanted, predictions)[0].mean_error, 0.084, 0.001);
  EXPECT_NEAR(scores(wanted, predictions)[1].correlation, 1, 1e-9);
  EXPECT_NE(plot::render_svg(truth_chart(wanted, predictions, 1)).find("sigma_8"),
            std::string::npos);
  // A tenth of a quarter of the range, of which the network has 1 for its half.
  const auto& unit = parameters(Variant::kMlperf);
  EXPECT_NEAR(mean_absolute_error(unit, {{{0.3075, 0.8, 0.96, 0.7}, {0.3, 0.8, 0.96, 0.7}}}),
              0.25 / 4, 1e-9);
}

// The hyperparameters of the reference, over 128 epochs of 1000 steps each.
TEST(CosmoflowCase, MlperfHasItsRecipe) {
  const OptionTable table = case_info().table();
  auto with = [&](train::Settings settings) {
    settings.insert(settings.begin(), {{"variant", "mlperf"}, {"size", "paper"}});
    return train::resolve(case_info(), table, settings);
  };
  const Options recipe = with({});
  EXPECT_EQ(recipe.text("optimizer"), "sgd");
  EXPECT_EQ(recipe.number("momentum"), 0.9);
  EXPECT_EQ(recipe.text("input"), "log");
  EXPECT_EQ(recipe.text("readout"), "last");
  EXPECT_EQ(recipe.number("dropout"), 0.5);
  EXPECT_EQ(recipe.number("weight_decay"), 0);
  for (const char* absent : {"augment", "batch_norm", "nesterov"})
    EXPECT_FALSE(recipe.flag(absent)) << absent;
  const double epoch = 1000;
  for (const auto& [ranks, peak] : {std::pair(16, 0.001), {64, 0.004}, {512, 0.032}}) {
    const train::Schedule schedule = train::make_schedule(recipe, ranks, std::int64_t(128 * epoch));
    auto at = [&](double epochs) { return schedule.rate(std::llround(epochs * epoch)); };
    EXPECT_NEAR(at(0), 0.001, 1e-5 + 1e-3 * peak);
    EXPECT_NEAR(at(2), (0.001 + peak) / 2, 1e-3 * peak);
    EXPECT_DOUBLE_EQ(at(4), peak);
    EXPECT_DOUBLE_EQ(at(31.9), peak);
    EXPECT_DOUBLE_EQ(at(32), 0.25 * peak);
    EXPECT_DOUBLE_EQ(at(64), 0.125 * peak);
  }
  // Each of them can be changed, and other variants and sizes have none of them.
  EXPECT_EQ(with({{"optimizer", "lamb"}}).text("optimizer"), "lamb");
  EXPECT_EQ(with({{"batch", "2"}}).integer("batch"), 2);
  EXPECT_EQ(train::resolve(case_info(), table, {{"size", "paper"}}).text("optimizer"),
            "larc_scale");
  const Options tiny =
      train::resolve(case_info(), table, {{"size", "tiny"}, {"variant", "mlperf"}});
  EXPECT_EQ(tiny.text("input"), "log");
  EXPECT_EQ(tiny.text("optimizer"), "adam");
  EXPECT_TRUE(tiny.flag("augment"));
}

}  // namespace
}  // namespace tutti::models::cosmoflow
