#include "tutti/core/spelling.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti {
namespace {

TEST(Spelling, SuggestsTheNameThatWasMeant) {
  const std::array<std::string_view, 5> known = {"hep", "resnet", "cosmoflow", "climate-detect",
                                                 "climate-segment"};
  EXPECT_EQ(nearest_name("hpe", known), "hep");
  EXPECT_EQ(nearest_name("resnte", known), "resnet");
  EXPECT_EQ(nearest_name("cosmo", known), "cosmoflow");
  EXPECT_EQ(nearest_name("climate", known), "");  // ambiguous: a prefix of two names
  EXPECT_EQ(nearest_name("nothing", known), "");
  EXPECT_EQ(nearest_name("x", known), "");
  EXPECT_EQ(nearest_name("", known), "");
}

}  // namespace
}  // namespace tutti
