#include "tutti/runs/events.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tutti::runs {
namespace {

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
}  // namespace tutti::runs
