#include "tutti/train/run/finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tutti::train {
namespace {

TEST(Finite, FindsEachAtEveryPlace) {
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

}  // namespace
}  // namespace tutti::train
