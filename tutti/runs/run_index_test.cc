#include "tutti/runs/run_index.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tutti/runs/schema.h"
#include "tutti/runs/training_log.h"

namespace tutti::runs {
namespace {

namespace fs = std::filesystem;

TEST(RunIndex, ListsAndSummarizesRuns) {
  std::string form = fs::temp_directory_path() / "index-XXXXXX";
  const fs::path base = mkdtemp(form.data());
  EXPECT_TRUE(list_runs(base / "none").empty());
  for (const char* name : {"b", "a"}) write_text(base / name / kConfigFile, "case = \"hep\"\n");
  write_text(base / "other" / "file", "");
  EXPECT_EQ(list_runs(base), (std::vector<fs::path>{base / "a", base / "b"}));
  EXPECT_EQ(summarize(base / "a").steps, 0);
  RunLog(base / "a", 0).step(7, 0.5, {{"loss", 0.25}});
  EXPECT_EQ(summarize(base / "a").steps, 7);
  EXPECT_EQ(summarize(base / "a").loss, 0.25);
  EXPECT_FALSE(summarize(base / "a").is_finished);
  write_text(base / "a" / kResultFile,
             R"({"samples_per_second": 12, "metrics": {"skill": 0.5, "area": 1}})");
  const RunSummary summary = summarize(base / "a");
  EXPECT_TRUE(summary.is_finished);
  EXPECT_EQ(summary.samples_per_second, 12);
  EXPECT_EQ(summary.first_metric, std::pair(std::string("skill"), 0.5));
  fs::remove_all(base);
}

TEST(Schema, KnowsTheFilesOfAJob) {
  EXPECT_EQ(events_file(-1), "events-launcher.jsonl");
  for (const std::string& name : {events_file(-1), events_file(3), flight_file(0), trace_file(12),
                                  std::string("RANKFILE"), std::string("rank-3.log")})
    EXPECT_TRUE(is_job_file(name)) << name;
  EXPECT_FALSE(is_job_file("trace.json"));
  EXPECT_FALSE(is_job_file("notes.txt"));
}

}  // namespace
}  // namespace tutti::runs
