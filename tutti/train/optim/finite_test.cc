#include "tutti/train/optim/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tutti::train {
namespace {

TEST(Finite, FindsEachAtEveryIndex) {
  using Limits = std::numeric_limits<float>;
  EXPECT_TRUE(all_finite({}));
  for (std::size_t size = 1; size < 70; ++size) {
    std::vector<float> values(size, Limits::max());
    EXPECT_TRUE(all_finite(values));
    for (float& value : values)
      for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
        value = bad;
        EXPECT_FALSE(all_finite(values)) << size;
        value = Limits::denorm_min();
      }
  }
}

TEST(Finite, FindsValuesWhoseSquareOverflows) {
  const float most = std::nextafter(0x1p64f, 0.f);
  EXPECT_TRUE(std::isfinite(most * most));
  EXPECT_FALSE(std::isfinite(0x1p64f * 0x1p64f));
  EXPECT_TRUE(squares_are_finite({}));
  for (std::size_t size = 1; size < 70; ++size) {
    std::vector<float> values(size, most);
    EXPECT_TRUE(squares_are_finite(values));
    for (float& value : values)
      for (const float bad : {0x1p64f, -0x1p64f, std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::infinity(), std::nanf("")}) {
        value = bad;
        EXPECT_FALSE(squares_are_finite(values)) << size;
        value = -most;
      }
  }
}

}  // namespace
}  // namespace tutti::train
