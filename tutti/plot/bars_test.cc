#include "tutti/plot/bars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tutti::plot {
namespace {

using testing::HasSubstr;
using testing::Not;

BarChart ratios() {
  return {"Title <&>",
          "subtitle",
          "times as fast",
          {{"first", {{"fast", 10, ""}, {"slow", 0.5, "0.50x"}}}, {"", {{"equal", 1, ""}}}},
          1,
          true};
}

TEST(Bars, DrawEveryBarDeterministically) {
  const std::string svg = render_svg(ratios());
  for (const char* text : {">first<", ">fast<", ">10<", ">slow<", ">0.50x<", ">equal<", ">1<",
                           ">times as fast<", "Title &lt;&amp;&gt;"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_EQ(svg, render_svg(ratios()));
}

// The axis spans 0.5 to 10 on 480 units; the value 1 is at the fraction log(2) / log(20) of it.
TEST(Bars, ExtendInBothDirectionsFromTheOrigin) {
  const std::string svg = render_svg(ratios());
  EXPECT_THAT(svg,
              HasSubstr(R"(<rect x="491.1" y="125.0" width="368.9" height="14" fill="#0072b2"/>)"));
  EXPECT_THAT(svg,
              HasSubstr(R"(<rect x="380.0" y="145.0" width="111.1" height="14" fill="#d55e00"/>)"));
}

TEST(Bars, SkipValuesThatCannotBePlotted) {
  BarChart chart = ratios();
  chart.groups = {{"", {{"none", 0, ""}, {"all", std::numeric_limits<double>::infinity(), ""}}}};
  const std::string svg = render_svg(chart);
  EXPECT_THAT(svg, HasSubstr(">none<"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  chart.groups.clear();
  EXPECT_THAT(render_svg(chart), HasSubstr("no data"));
}

TEST(Bars, OfShares) {
  const std::string svg =
      render_svg(BarChart{"t", "", "share", {{"", {{"a", 0.25, ""}, {"b", 1, ""}}}}});
  EXPECT_THAT(svg, HasSubstr(R"(<rect x="380.0" y="91.0" width="120.0")"));
  EXPECT_THAT(svg, HasSubstr(R"(<rect x="380.0" y="111.0" width="480.0")"));
}

}  // namespace
}  // namespace tutti::plot
