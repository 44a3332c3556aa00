#include "tutti/core/result.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tutti/core/events.h"

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
  Result chained = std::move(result).because("saving");
  EXPECT_EQ(chained.message(), "saving: disk full");
  EXPECT_THROW(chained.raise(), IoError);
}

TEST(Result, KeepsAnErrorWhole) {
  const CommError error("DDL-4-02", "rank 3 is gone");
  const Result result = Result::from(error);
  EXPECT_EQ(result.code(), "DDL-4-02");
  EXPECT_EQ(result.message(), "rank 3 is gone");
  EXPECT_THROW(result.raise(), CommError);
}

TEST(Events, OneLinePerEventInJson) {
  const auto folder = std::filesystem::temp_directory_path() / "tutti_events_test";
  std::filesystem::remove_all(folder);
  {
    EventLog log(folder, 3, "host\"1");
    log.write("stall", {{"seconds", 1.5}, {"missing", std::int64_t{7}}, {"fatal", false}});
  }
  std::ifstream file(folder / "events-rank3.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_NE(
      line.find(R"("host":"host\"1","kind":"stall","seconds":1.5,"missing":7,"fatal":false})"),
      std::string::npos)
      << line;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tutti
