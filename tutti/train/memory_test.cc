#include "tutti/train/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr MemoryNeed kNeed{.fixed = 1e9, .sample = 2e9};

TEST(Memory, RequestsThatFitAreAccepted) {
  EXPECT_NO_THROW(check_need(kNeed, 4, 2, 18e9));
  EXPECT_NO_THROW(check_need({.fixed = 1e9}, 4, 2, 1e9));  // unknown
}

TEST(Memory, ASmallerBatchIsNamed) {
  EXPECT_THAT(
      [] { check_need(kNeed, 8, 2, 18e9); },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("about 34.0 GB"), HasSubstr("18.0 GB are free"),
                                       HasSubstr("--set batch=4 would fit"))));
}

TEST(Memory, FewerRanksAreNamedWhereOneSampleEachIsTooMuch) {
  EXPECT_THAT([] { check_need(kNeed, 1, 4, 7e9); },
              ThrowsMessage<ConfigError>(HasSubstr("--set batch=1 with --ranks 2 would fit")));
  EXPECT_THAT([] { check_need(kNeed, 1, 2, 2e9); },
              ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr("a smaller --size"), HasSubstr("check_memory=0"))));
}

}  // namespace
}  // namespace tutti::train
