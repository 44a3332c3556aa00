#include "tutti/plan/mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/plan/test_grids.h"

namespace tutti::plan {
namespace {

using ::testing::ElementsAre;
using testing::grid_of;
using ::testing::HasSubstr;

template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(Mode, ReadsLettersNamesAndDimensions) {
  const Mode p = parse_mode("p:2x2x1x1");
  EXPECT_TRUE(p.algorithms.empty());
  EXPECT_THAT(p.dimensions, ElementsAre(2, 2, 1, 1));
  EXPECT_TRUE(p.algorithms_on(grid_of({2, 2})).empty());
  const auto grid = grid_of({4, 2}, 1);
  EXPECT_THAT(parse_mode("b").algorithms_on(grid), ElementsAre("direct", "ring"));
  EXPECT_THAT(parse_mode("n:4x2").algorithms_on(grid), ElementsAre("direct", "ring"));
  EXPECT_THAT(parse_mode("r").algorithms_on(grid), ElementsAre("ring", "ring"));
  EXPECT_THAT(parse_mode("m").algorithms_on(grid), ElementsAre("vendor", "vendor"));
  EXPECT_THAT(parse_mode("b,c").algorithms_on(grid), ElementsAre("direct", "halving_doubling"));
  EXPECT_THAT(parse_mode("direct,double_tree:4x2").algorithms_on(grid),
              ElementsAre("direct", "double_tree"));
}

TEST(Mode, ErrorsNameTheReplacement) {
  EXPECT_THAT(error_of([] { parse_mode("q:2x2"); }), HasSubstr("DDL-1-28 Mode 'q' is unknown"));
  EXPECT_THAT(error_of([] { parse_mode("direct,rong"); }), HasSubstr("'rong'"));
  EXPECT_THAT(error_of([] { parse_mode(""); }), HasSubstr("DDL-1-28"));
  for (const char* text : {"p:", "p:2x", "p:0x2", "p:2*2", "r:-1"}) {
    EXPECT_THAT(error_of([&] { parse_mode(text); }), HasSubstr("DDL-1-29")) << text;
  }
}

}  // namespace
}  // namespace tutti::plan
