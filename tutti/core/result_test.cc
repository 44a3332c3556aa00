#include "tutti/core/result.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

TEST(Result, StepsStopAtTheFirstFailure) {
  int reached = 0;
  const auto good = [&] {
    ++reached;
    return Result::ok();
  };
  const auto bad = [&] { return Result::failure(ErrorKind::kIo, "DDL-7-09", "disk full"); };
  Result result = Result::ok() << good << bad << good;
  EXPECT_FALSE(result);
  EXPECT_EQ(reached, 1);
  Result chained = std::move(result).with_context("saving");
  EXPECT_EQ(chained.message(), "saving: disk full");
  EXPECT_THROW(chained.throw_if_error(), IoError);
}

TEST(Result, KeepsKindCodeAndMessage) {
  const CommError error("DDL-4-02", "rank 3 no longer exists");
  const Result result = Result::from(error);
  EXPECT_EQ(result.code(), "DDL-4-02");
  EXPECT_EQ(result.message(), "rank 3 no longer exists");
  EXPECT_THROW(result.throw_if_error(), CommError);
}

}  // namespace
}  // namespace tutti
