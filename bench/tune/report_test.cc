#include "bench/tune/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tutti/core/test_error.h"

namespace tutti::bench {
namespace {

using testing::HasSubstr;

std::filesystem::path written(const std::string& text) {
  const std::filesystem::path file = testing::TempDir() + "/tutti_bench_tune";
  std::ofstream(file) << text;
  return file;
}

TEST(TuneReport, NormalizesByRandomSearch) {
  const TuneResults results = read_results(written(
      R"({"system": "tutti", "metric": "regret", "problem": "p", "algorithm": "random", "values": [3, 5]}
{"system": "tutti", "metric": "regret", "problem": "p", "algorithm": "auto", "values": [1, 1]}
{"system": "other 1", "metric": "regret", "problem": "p", "algorithm": "random", "values": [4, 4]}
{"system": "other 1", "metric": "regret", "problem": "p", "algorithm": "tpe", "values": [2, 2]}
{"system": "tutti", "metric": "suggestion", "algorithm": "tpe", "trials": 1000, "seconds": 0.001, "samples": 3}
{"system": "other 1", "metric": "suggestion", "algorithm": "tpe", "trials": 1000, "seconds": 0.05, "samples": 3}
)"));
  EXPECT_DOUBLE_EQ(normalized_regret(results, results.regrets[1]), 0.25);
  EXPECT_DOUBLE_EQ(normalized_regret(results, results.regrets[3]), 0.5);
  EXPECT_THAT(text_of(results),
              testing::AllOf(HasSubstr("50.0x"), HasSubstr("0.250"), HasSubstr("mean")));
  EXPECT_EQ(rows_of(results).size(), 8u);
}

TEST(TuneReport, RejectsOtherText) {
  EXPECT_THAT(error_of([] { read_results(written("Traceback\n")); }), HasSubstr("DDL-8-76"));
}

}  // namespace
}  // namespace tutti::bench
