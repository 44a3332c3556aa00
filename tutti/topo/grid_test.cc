#include "tutti/topo/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/topo/layout.h"

namespace tutti::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three hosts of 3, 1 and 2 ranks.
Grid uneven() {
  return make_grid({{{"a", {0, 3, 5}}, {"b", {1}}, {"c", {2, 4}}}});
}

std::string rejection_of(std::string_view text) {
  try {
    parse_grid(text, "grid.txt");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Grid, CoordinatesAreTheDigitsOfThePosition) {
  const Grid grid = make_grid({{{"a", {0, 2}}, {"b", {1, 3}}}}, parse_dimensions("2x2x1x1"));
  EXPECT_THAT(coordinates(grid, 0), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(coordinates(grid, 2), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(coordinates(grid, 1), ElementsAre(0, 1, 0, 0));
  EXPECT_THROW(coordinates(grid, 4), ConfigError);
  EXPECT_EQ(shape_of(grid), "2x2x1x1");
}

TEST(Grid, GroupsDifferInOneCoordinateOnly) {
  const Grid grid = make_grid({{{"a", {0, 2}}, {"b", {1, 3}}}}, parse_dimensions("2x2x1x1"));
  EXPECT_THAT(groups(grid, 0), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(groups(grid, 1), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(groups(grid, 2).size(), 4u);
}

TEST(Grid, UnevenHostsAreGroupsOfTheirOwnLength) {
  const Grid grid = uneven();
  EXPECT_FALSE(grid.is_even());
  EXPECT_EQ(shape_of(grid), "*x3x1x1");
  EXPECT_THAT(groups(grid, 0),
              ElementsAre(ElementsAre(0, 3, 5), ElementsAre(1), ElementsAre(2, 4)));
  EXPECT_THAT(groups(grid, 1),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4), ElementsAre(5)));
  EXPECT_THAT(coordinates(grid, 4), ElementsAre(1, 2, 0, 0));
}

TEST(Grid, TextIsReadBackExactly) {
  for (const Grid& grid : {uneven(), make_grid({{{"a", {0}}}})}) {
    const Grid again = parse_grid(to_text(grid));
    EXPECT_EQ(to_text(again), to_text(grid));
    EXPECT_EQ(again.hosts, grid.hosts);
    EXPECT_EQ(again.dimensions[1].link.seconds_per_byte, grid.dimensions[1].link.seconds_per_byte);
    EXPECT_EQ(again.dimensions[0].mapped, grid.dimensions[0].mapped);
  }
}

TEST(Grid, TextThatBreaksThePromisesIsRejected) {
  const std::string start = "tutti grid 1\nranks = 0,1\n[dimension]\nname = accelerator\n";
  EXPECT_THAT(rejection_of(start + "size = 3\n[host]\nranks = 0,1\n"),
              HasSubstr("the dimensions make 3 but there are 2 ranks"));
  EXPECT_THAT(rejection_of(start + "size = 2\n[host]\nranks = 1,0\n"), HasSubstr("line ranks"));
  EXPECT_THAT(rejection_of(start + "size = -2\n"), HasSubstr("grid.txt:5: size = -2"));
  EXPECT_THAT(rejection_of("tutti grid 1\nranks = 0,2\n[dimension]\nname = node\nsize = 2\n"
                           "[host]\nranks = 0,2\n"),
              HasSubstr("0 to 1, each once"));
  std::string many = start + "size = 2000000000\n";
  for (int i = 0; i < 4; ++i) many += "[dimension]\nname = node\nsize = 2000000000\n";
  EXPECT_THAT(rejection_of(many), HasSubstr("the dimensions make"));
}

}  // namespace
}  // namespace tutti::topo
