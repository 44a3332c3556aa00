#include "tutti/train/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::train {
namespace {

using testing::ElementsAre;

TEST(DealLayers, TheBusiestStageHasAsLittleAsCanBe) {
  EXPECT_THAT(deal_layers({1, 1, 1, 1}, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(deal_layers({10, 1, 1, 1}, 2), ElementsAre(0, 1, 4));
  EXPECT_THAT(deal_layers({1, 1, 1, 10}, 2), ElementsAre(0, 3, 4));
  EXPECT_THAT(deal_layers({4, 3, 2, 6, 1}, 3), ElementsAre(0, 2, 3, 5));
}

TEST(DealLayers, EveryStageHasALayer) {
  EXPECT_THAT(deal_layers({9, 1, 1}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(deal_layers({1, 1, 9}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(deal_layers({0, 0, 0}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(deal_layers({5}, 1), ElementsAre(0, 1));
}

}  // namespace
}  // namespace tutti::train
