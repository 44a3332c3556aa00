#include "bench/glm/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "bench/glm/generate.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

GlmOutcome outcome() {
  GlmOutcome made{.name = "clicks",
                  .what = "test",
                  .rows = 10,
                  .columns = 5,
                  .entries = 20,
                  .target = 1e-2,
                  .fits = {}};
  made.fits = {{"tutti", "tol 1e-2", 1.0, 100.5, 10, 0.5},
               {"tutti", "tol 1e-9", 2.0, 100.0, 20, 0},
               {"saga", "5 epochs", 3.0, 110.0, 5, 0},
               {"saga", "50 epochs", 30.0, 100.2, 50, 0}};
  return made;
}

TEST(GlmReport, SelectsTheFastestFitWithinTheTarget) {
  const GlmOutcome made = outcome();
  EXPECT_EQ(made.best(), 100.0);
  EXPECT_EQ(made.first_within("tutti")->settings, "tol 1e-2");
  EXPECT_EQ(made.first_within("saga")->settings, "50 epochs");
  EXPECT_EQ(made.first_within("lbfgs"), nullptr);
  const std::vector<Row> rows = rows_of(made);
  const auto ratio =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.metric == "ratio"; });
  ASSERT_NE(ratio, rows.end());
  EXPECT_DOUBLE_EQ(ratio->value, 30);
  EXPECT_THAT(text_of(made), testing::HasSubstr("30.0x faster"));
  EXPECT_THAT(text_of(made), testing::HasSubstr("2500000.00 ns per entry and pass"));
}

// It is compared with the fits in memory that were measured alternately with it.
TEST(GlmReport, AFitFromAFileIsNotABaseline) {
  GlmOutcome made = outcome();
  made.fits.push_back({kFromFile, "", 1.5, 100.5, 10, 1.2, 1.2});
  EXPECT_THAT(text_of(made), testing::HasSubstr("1.25x the time in memory"));
  for (const Row& row : rows_of(made)) {
    EXPECT_FALSE(row.fields.contains("baseline") && row.fields["baseline"] == kFromFile);
    if (row.metric == "times_in_memory") {
      EXPECT_DOUBLE_EQ(row.value, 1.25);
    }
  }
}

TEST(GlmReport, ReadsTheOutputOfTheWorker) {
  const auto path =
      std::filesystem::temp_directory_path() / ("tutti-glm-" + std::to_string(::getpid()));
  std::ofstream(path) << R"({"system":"a","settings":"b","seconds":1.5,"objective":2,"passes":0})"
                      << "\n";
  EXPECT_EQ(read_fits(path).at(0).seconds, 1.5);
  std::ofstream(path) << "Traceback\n";
  EXPECT_THROW(read_fits(path), IoError);
  std::filesystem::remove(path);
}

TEST(GlmGenerate, RowsDoNotDependOnTheirNumber) {
  const auto few = make_clicks(100, 1000, 3), many = make_clicks(3000, 1000, 3);
  EXPECT_TRUE(std::equal(few.features.indices, few.features.indices + few.features.entries(),
                         many.features.indices));
  EXPECT_TRUE(std::equal(few.labels.begin(), few.labels.end(), many.labels.begin()));
  EXPECT_EQ(few.features.values, nullptr);
  const auto pages = make_pages(50, 5000, 60, 3);
  EXPECT_NE(pages.features.values, nullptr);
  const auto dense = make_factors(50, 40, 3);
  double square = 0;
  for (int j = 0; j < 40; ++j)
    square += std::pow(static_cast<const float*>(dense.features.values)[j], 2);
  EXPECT_NEAR(square, 1, 1e-5);
}

}  // namespace
}  // namespace tutti::bench
