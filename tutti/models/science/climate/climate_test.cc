// Distributions of the weather with fixed seeds, and the labelling rules on hand-made fields.
#include <gtest/gtest.h>

#include "tutti/models/science/climate/labels.h"
#include "tutti/models/science/climate/map_chart.h"
#include "tutti/models/science/climate/random_field.h"
#include "tutti/models/science/climate/storms.h"

namespace tutti::models::climate {
namespace {

const Grid kGrid{96, 144};

TEST(ClimateGrid, DistancesOnTheGlobe) {
  EXPECT_NEAR(great_circle_km({0, 0}, {0, 90}), 90 * kDegreeKm, 1);
  EXPECT_NEAR(great_circle_km({-90, 0}, {90, 77}), 180 * kDegreeKm, 1);
  EXPECT_NEAR(offset({60, 359}, {60, 1}).east, kDegreeKm, 0.1);
  EXPECT_EQ(kGrid.column(-1), 143);
  int cells = 0;
  visit_near(kGrid, {0, 0}, 5 * kDegreeKm,
             [&](int, int, const Offset& d) { cells += d.distance() <= 5 * kDegreeKm; });
  EXPECT_NEAR(cells, std::numbers::pi * 25 / (1.875 * 2.5), 4);
}

// Mean 0, unit variance, smoother for greater lengths, periodic around the globe.
TEST(ClimateRandomField, HasItsSpectrum) {
  Random random(1);
  double squares = 0, steps[2] = {0, 0}, seam = 0, inside = 0;
  for (int i = 0; i < 12; ++i)
    for (int k = 0; k < 2; ++k) {
      const Plane plane = random_field(kGrid, k == 0 ? 500 : 2000, random);
      for (int row = 0; row < kGrid.rows; ++row)
        for (int column = 0; column < kGrid.columns; ++column) {
          const double here = plane[kGrid.at(row, column)];
          const double step = plane[kGrid.at(row, kGrid.column(column + 1))] - here;
          squares += here * here;
          steps[k] += step * step;
          (column == kGrid.columns - 1 ? seam : inside) += step * step;
        }
    }
  EXPECT_NEAR(squares / (24.0 * double(kGrid.size())), 1, 0.15);
  EXPECT_GT(steps[0], 1.5 * steps[1]);
  EXPECT_NEAR(seam * (kGrid.columns - 1) / inside, 1, 0.3);
}

TEST(ClimateStorms, WindsOfTheHollandVortex) {
  const double f = coriolis_at(17);
  auto most = [&](double drop, double shape) {
    double wind = 0;
    for (double r = 5; r < 300; r += 1) wind = std::max(wind, holland_wind(drop, 40, shape, f, r));
    return wind;
  };
  EXPECT_NEAR(most(2000, 1.3), 28, 1.5);
  EXPECT_NEAR(most(4500, 1.5), 45, 1.5);
  EXPECT_NEAR(most(7000, 1.7), 61, 1.5);
  EXPECT_GT(coriolis_at(1), 2.4e-5);
  EXPECT_LT(coriolis_at(-1), -2.4e-5);
}

TEST(ClimateStorms, NumbersAreThoseOfPoisson) {
  Random random(2);
  double sum = 0, squares = 0;
  for (int i = 0; i < 4000; ++i) {
    const int n = poisson(6, random);
    sum += n / 4000.0;
    squares += n * n / 4000.0;
  }
  EXPECT_NEAR(sum, 6, 0.15);
  EXPECT_NEAR(squares - sum * sum, 6, 0.5);
}

// Class frequencies, and agreement of the labelling rules with the generated storms, as in the recipe. Large cells give
// more cyclone pixels per storm.
TEST(ClimateWeather, FramesLookLikeTheWorld) {
  Random random(3);
  double share[kClasses] = {}, intersection[kClasses] = {}, union_size[kClasses] = {};
  double storms[kStormKinds] = {}, found = 0;
  const int n = 12;
  for (int k = 0; k < n; ++k) {
    const Frame frame = make_frame(kGrid, {}, random);
    const std::vector<std::uint8_t> labels = label_frame(frame);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      share[labels[i]] += 1.0 / (n * double(labels.size()));
      for (int c = 1; c < kClasses; ++c) {
        intersection[c] += labels[i] == c && frame.truth[i] == c;
        union_size[c] += labels[i] == c || frame.truth[i] == c;
      }
    }
    for (const Storm& storm : frame.storms) {
      storms[int(storm.kind)] += 1.0 / n;
      EXPECT_GE(storm.box.column_min, 0);
      EXPECT_LE(storm.box.column_max, kGrid.columns);
      EXPECT_LT(storm.box.row_min, storm.box.row_max);
      EXPECT_LT(storm.box.column_min, storm.box.column_max);
    }
    found += double(find_cyclones(frame).size()) / n;
    const auto [least, most] =
        std::minmax_element(frame.fields[kPSL].begin(), frame.fields[kPSL].end());
    EXPECT_GT(*least, 88000);
    EXPECT_LT(*most, 107000);
    for (float wet : frame.fields[kTMQ]) EXPECT_TRUE(wet > 0 && wet <= 75);
  }
  EXPECT_NEAR(share[kBackground], 0.987, 0.006);
  EXPECT_NEAR(share[kCyclone], 0.004, 0.003);
  EXPECT_NEAR(share[kRiver], 0.009, 0.004);
  EXPECT_GT(intersection[kRiver] / union_size[kRiver], 0.55);
  EXPECT_GT(intersection[kCyclone] / union_size[kCyclone], 0.25);
  EXPECT_NEAR(storms[int(StormKind::kRiver)], 6, 2);
  EXPECT_NEAR(found, storms[int(StormKind::kTropicalCyclone)] + 0.7, 1);
}

Frame calm() {
  Frame frame{kGrid, {}, {}, std::vector<std::uint8_t>(kGrid.size())};
  for (Plane& plane : frame.fields) plane.assign(kGrid.size(), 0.f);
  frame.fields[kPSL].assign(kGrid.size(), 101325.f);
  return frame;
}

TEST(ClimateLabels, NothingInCalmAir) {
  const auto labels = label_frame(calm());
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 0), std::int64_t(kGrid.size()));
}

TEST(ClimateLabels, OneWarmVortexIsOneCyclone) {
  for (double latitude : {20.0, -20.0}) {
    Frame frame = calm();
    add_cyclone({{latitude, 359}, 5000, 300, 1.5, {0, 0}, false}, frame);
    const auto centres = find_cyclones(frame);
    ASSERT_EQ(centres.size(), 1u) << latitude;
    EXPECT_LT(offset(centres[0], {latitude, 359}).distance(), 300);
    const auto labels = label_frame(frame);
    const auto marked = std::count(labels.begin(), labels.end(), kCyclone);
    EXPECT_GT(marked, 5);
    EXPECT_LT(marked, 60);
    frame.fields[kT200].assign(kGrid.size(), 220.f);  // without its warm core
    frame.fields[kT500].assign(kGrid.size(), 260.f);
    EXPECT_TRUE(find_cyclones(frame).empty());
  }
}

TEST(ClimateLabels, RiversAreLongAndNarrow) {
  Frame frame = calm();
  for (int i = 0; i < 20; ++i)  // from 41 to 77 degrees north over the edge of the map
    frame.fields[kTMQ][kGrid.at(70 + i, kGrid.column(134 + i))] = 50;
  const auto labels = label_frame(frame);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), kRiver), 20);
  Frame round = calm();
  for (int row = 66; row < 74; ++row)
    for (int column = 20; column < 40; ++column) round.fields[kTMQ][kGrid.at(row, column)] = 50;
  const auto none = label_frame(round);
  EXPECT_EQ(std::count(none.begin(), none.end(), kRiver), 0);
}

TEST(ClimateLabels, RegionsAreConnectedAroundTheGlobe) {
  const Grid grid{2, 6};
  EXPECT_EQ(regions(grid, {1, 0, 1, 0, 0, 1, /**/ 0, 1, 0, 0, 0, 0}).size(), 1u);
  EXPECT_EQ(regions(grid, {0, 1, 0, 0, 1, 0, /**/ 0, 0, 0, 0, 0, 0}).size(), 2u);
  EXPECT_TRUE(regions(grid, std::vector<std::uint8_t>(12)).empty());
}

TEST(ClimateMap, DrawsFieldsMarksAndBoxes) {
  const Grid grid{2, 3};
  const std::vector<float> field = {0, 0, 1, 1, 1, 1};
  const std::vector<std::uint8_t> marks = {0, 0, 0, 0, 1, 1};
  const std::vector<MapPanel> panels = {
      {"title", field, marks, {{{0, 0, 1, 2}, 2, "storm", true}}}};
  const std::string svg = map_svg(grid, panels, std::vector<Legend>{{1, "cyclone"}});
  EXPECT_NE(svg.find("M1 0.5h2"), std::string::npos);  // the marks, in the upper row
  EXPECT_NE(svg.find("M0 1.5h2"), std::string::npos);  // the low values, in the lower one
  EXPECT_NE(svg.find("storm"), std::string::npos);
  EXPECT_NE(svg.find("cyclone"), std::string::npos);
}

}  // namespace
}  // namespace tutti::models::climate
