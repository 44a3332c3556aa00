#include "tutti/plot/chart.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tutti::plot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string plain(double value) {
  return fmt::format("{}", value);
}

Chart example() {
  return {"Title <&>",
          "subtitle",
          {"bytes", 4, plain},
          {"GB/s", 10, plain},
          {{"ours", LineStyle::kOurs, {{1024, 1, 0.9, 1.1}, {4096, 2, 1.9, 2.2}}},
           {"peer", LineStyle::kPeer, {{1024, 0.5}, {4096, 0.6}}},
           {"bound", LineStyle::kBound, {{1024, 5}, {4096, 5}}}}};
}

TEST(Plot, DrawsEverySeriesDeterministically) {
  std::string svg = render_svg(example());
  EXPECT_THAT(svg, HasSubstr(">ours<"));
  EXPECT_THAT(svg, HasSubstr(">peer<"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(svg, HasSubstr("Title &lt;&amp;&gt;"));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_EQ(svg, render_svg(example()));
}

TEST(Plot, OmitsValuesWithoutLogarithm) {
  Chart chart = example();
  chart.series[0].points = {{0, 1}, {1024, -1}, {4096, std::numeric_limits<double>::infinity()}};
  std::string svg = render_svg(chart);
  EXPECT_THAT(svg, Not(HasSubstr(">ours<")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Plot, OnePointAndNone) {
  Chart chart = example();
  chart.series.resize(1);
  chart.series[0].points.resize(1);
  EXPECT_THAT(render_svg(chart), Not(HasSubstr("nan")));
  chart.series[0].points.clear();
  EXPECT_THAT(render_svg(chart), HasSubstr("no data"));
}

TEST(Plot, TicksOfManyAndFewDecades) {
  EXPECT_THAT(log_ticks(1, 1000, 10, 9), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(log_ticks(1, 10, 10, 9), ElementsAre(1, 2, 5, 10));
  EXPECT_THAT(log_ticks(1024, 16384, 4, 12), ElementsAre(1024, 4096, 16384));
  EXPECT_LE(log_ticks(1, 1e30, 10, 9).size(), 9u);
  EXPECT_THAT(log_ticks(0.62, 0.83, 10, 12),
              testing::Pointwise(testing::DoubleEq(), {0.65, 0.70, 0.75, 0.80}));
}

TEST(Plot, NumbersOfTicksAreShort) {
  EXPECT_EQ(plain_text(12000), "12000");
  EXPECT_EQ(plain_text(3 * 0.1), "0.3");
  EXPECT_EQ(plain_text(5e-5), "5e-05");
}

TEST(Plot, TicksAreIntegersAndTheBandFits) {
  Chart chart{"", "", {"step", 10, plain_text, true, true}, {"", 10, plain_text, true}, {}};
  chart.series = {{"", LineStyle::kOurs, {{1, 2, 1, 40}, {3, 2, 1, 3}}}};
  const std::string svg = render_svg(chart);
  EXPECT_THAT(svg, HasSubstr(">2</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">1.5<")));
  EXPECT_THAT(svg, HasSubstr(">40</text>"));
}

// A point with a single measurement has no range; the ranges of other points are still drawn.
TEST(Plot, ABandIsClosedWhereAPointHasNoSpread) {
  Chart chart{"", "", {"", 10, plain_text, true}, {"", 10, plain_text, true}, {}};
  chart.series = {{"", LineStyle::kOurs, {{1, 2, 1, 3}, {2, 2, 2, 2}, {3, 2, 1, 3}}}};
  EXPECT_THAT(render_svg(chart), HasSubstr("fill-opacity"));
  for (Point& point : chart.series[0].points) point.low = point.high = 0;
  EXPECT_THAT(render_svg(chart), Not(HasSubstr("fill-opacity")));
}

TEST(Plot, LinearAxesHoldZeroAndNegativeValues) {
  EXPECT_THAT(linear_ticks(0, 1, 5), ElementsAre(0, 0.2, 0.4, 0.6000000000000001, 0.8, 1));
  EXPECT_THAT(linear_ticks(-3, 3, 3), ElementsAre(-2, 0, 2));
  Chart chart = example();
  chart.x.is_linear = chart.y.is_linear = true;
  chart.series[0].points = {{-1, 0}, {0, -2}, {5, 3}};
  const std::string svg = render_svg(chart);
  EXPECT_THAT(svg, HasSubstr(">ours<"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  chart.series = {{"ours", LineStyle::kOurs, {{0, 0}}}};
  EXPECT_THAT(render_svg(chart), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace tutti::plot
