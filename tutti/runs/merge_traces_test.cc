#include "tutti/runs/merge_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tutti/core/error.h"

namespace tutti::runs {
namespace {

using nlohmann::json;

class TraceMerge : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tutti-trace-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  void write_trace(int rank, const std::string& host, double barrier_end, double start) {
    std::ostringstream text;
    text << "[\n"
         << R"({"name":"process_name","ph":"M","pid":)" << rank << R"(,"args":{"host":")" << host
         << "\"}},\n"
         << R"({"name":"barrier","ph":"X","ts":)" << barrier_end - 1 << R"(,"dur":1,"pid":)" << rank
         << R"(,"tid":0,"args":{"sequence":1}},)"
         << "\n"
         << R"({"name":"all_reduce","ph":"X","ts":)" << start << R"(,"dur":5,"pid":)" << rank
         << R"(,"tid":2,"args":{"sequence":2}},)"
         << "\n{\"name\":\"cut o";
    write("trace-rank" + std::to_string(rank) + ".json", text.str());
  }
  json merge() {
    std::ostringstream out;
    ranks_ = merge_traces(folder_, out);
    return json::parse(out.str())["traceEvents"];
  }
  static double start_of(const json& events, int rank, const std::string& name) {
    for (const json& event : events) {
      if (event["pid"] == rank && event["name"] == name) return event["ts"];
    }
    return -1;
  }

  std::filesystem::path folder_;
  int ranks_ = 0;
};

TEST_F(TraceMerge, AlignsTheClocksOfHostsByABarrier) {
  write_trace(0, "red", 100, 200);
  write_trace(1, "red", 102, 203);     // the same clock; left the barrier later
  write_trace(2, "blue", 5100, 5201);  // a clock that is 5000 us ahead
  const json events = merge();
  EXPECT_EQ(ranks_, 3);
  EXPECT_DOUBLE_EQ(start_of(events, 0, "all_reduce"), 101);
  EXPECT_DOUBLE_EQ(start_of(events, 1, "all_reduce"), 104);
  EXPECT_DOUBLE_EQ(start_of(events, 2, "all_reduce"), 102);
}

TEST_F(TraceMerge, ReadsFlightRecordsAndMarksUnfinishedOperations) {
  write("flight-rank3.json", R"({"version":1,"rank":3,"host":"red","written_ns":9000,"operations":[
    {"collective":"all_reduce","sequence":1,"communicator":0,"start_ns":1000,"end_ns":3000},
    {"collective":"barrier","sequence":2,"communicator":0,"start_ns":4000,"unfinished":true}]})");
  const json events = merge();
  EXPECT_EQ(ranks_, 1);
  EXPECT_DOUBLE_EQ(start_of(events, 3, "all_reduce"), 0);
  EXPECT_DOUBLE_EQ(start_of(events, 3, "barrier (unfinished)"), 3);
}

TEST_F(TraceMerge, RejectsUnreadableFiles) {
  std::ostringstream out;
  EXPECT_THROW(merge_traces(folder_, out), IoError);
  EXPECT_THROW(merge_traces(folder_ / "nowhere", out), IoError);
  write("flight-rank0.json", "no json");
  EXPECT_THROW(merge_traces(folder_, out), IoError);
}

}  // namespace
}  // namespace tutti::runs
