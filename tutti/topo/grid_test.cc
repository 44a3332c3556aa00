#include "tutti/topo/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/topo/layout.h"

namespace tutti::topo {
namespace {

using testing::ElementsAre;

// Three hosts of 3, 1 and 2 ranks.
Grid uneven() {
  return make_grid({{{"a", {0, 3, 5}}, {"b", {1}}, {"c", {2, 4}}}});
}

TEST(Grid, GroupsDifferInOneCoordinateOnly) {
  const Grid grid = make_grid({{{"a", {0, 2}}, {"b", {1, 3}}}}, parse_dimensions("2x2x1x1"));
  EXPECT_THAT(groups(grid, 0), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(groups(grid, 1), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(groups(grid, 2).size(), 4u);
  EXPECT_EQ(shape_of(grid), "2x2x1x1");
}

TEST(Grid, UnevenHostsAreGroupsOfDifferentLength) {
  const Grid grid = uneven();
  EXPECT_FALSE(grid.is_even());
  EXPECT_EQ(shape_of(grid), "*x3x1x1");
  EXPECT_THAT(groups(grid, 0),
              ElementsAre(ElementsAre(0, 3, 5), ElementsAre(1), ElementsAre(2, 4)));
  EXPECT_THAT(groups(grid, 1),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4), ElementsAre(5)));
}

}  // namespace
}  // namespace tutti::topo
