#include "tutti/plot/picture.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::plot {
namespace {

TEST(Picture, RunsOfARowAreOneStroke) {
  const std::vector<float> field = {0, 0, 1, 1, 1, 0};
  Picture picture{2, 3, field, {}, false, true};
  const std::string text = picture_elements(picture);
  EXPECT_NE(text.find("M0 0.5h2M2 1.5h1\" stroke=\"rgb(0,0,0)\""), std::string::npos) << text;
  EXPECT_NE(text.find("M2 0.5h1M0 1.5h2\" stroke=\"rgb(255,255,255)\""), std::string::npos) << text;
  picture.has_first_row_below = true;
  EXPECT_NE(picture_elements(picture).find("M0 1.5h2M2 0.5h1"), std::string::npos);
}

TEST(Picture, MarksHaveTheirColours) {
  const std::vector<std::uint8_t> marks = {0, 2, 2};
  const std::string text = picture_elements({1, 3, {}, marks});
  EXPECT_NE(text.find(std::string("M1 0.5h2\" stroke=\"") + mark_colour(2)), std::string::npos);
  EXPECT_EQ(text.find("M0 "), std::string::npos);
}

TEST(Picture, NothingIsDrawnOfNothing) {
  EXPECT_EQ(picture_elements({}), "");
  const std::vector<float> even = {3, 3};
  EXPECT_NE(picture_elements({1, 2, even, {}}).find("M0 0.5h2"), std::string::npos);
}

}  // namespace
}  // namespace tutti::plot
