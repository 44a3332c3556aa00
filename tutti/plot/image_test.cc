#include "tutti/plot/image.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::plot {
namespace {

TEST(Image, RunsOfARowAreOneStroke) {
  const std::vector<float> field = {0, 0, 1, 1, 1, 0};
  Image image{2, 3, field, {}, false, true};
  const std::string text = image_elements(image);
  EXPECT_NE(text.find("M0 0.5h2M2 1.5h1\" stroke=\"rgb(0,0,0)\""), std::string::npos) << text;
  EXPECT_NE(text.find("M2 0.5h1M0 1.5h2\" stroke=\"rgb(255,255,255)\""), std::string::npos) << text;
  image.has_first_row_below = true;
  EXPECT_NE(image_elements(image).find("M0 1.5h2M2 0.5h1"), std::string::npos);
}

TEST(Image, MarksHaveTheirColours) {
  const std::vector<std::uint8_t> marks = {0, 2, 2};
  const std::string text = image_elements({1, 3, {}, marks});
  EXPECT_NE(text.find(std::string("M1 0.5h2\" stroke=\"") + mark_colour(2)), std::string::npos);
  EXPECT_EQ(text.find("M0 "), std::string::npos);
}

TEST(Image, AnEmptyImageDrawsNothing) {
  EXPECT_EQ(image_elements({}), "");
  const std::vector<float> even = {3, 3};
  EXPECT_NE(image_elements({1, 2, even, {}}).find("M0 0.5h2"), std::string::npos);
}

}  // namespace
}  // namespace tutti::plot
