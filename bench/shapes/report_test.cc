#include "bench/shapes/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "bench/harness/scratch_folder.h"
#include "bench/shapes/cases.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

ShapeFit linear(std::string system, double cpu, double objective) {
  return {.system = std::move(system),
          .settings = "",
          .solver = "",
          .why = "",
          .cpu = cpu,
          .wall = cpu,
          .samples = 3,
          .objective = objective};
}

ShapeFit scored(std::string system, double cpu, double score) {
  return {.system = std::move(system),
          .settings = "",
          .solver = "",
          .why = "",
          .cpu = cpu,
          .wall = cpu,
          .samples = 3,
          .score = score};
}

ShapeCell cell(std::vector<ShapeFit> fits, std::vector<std::string> limited = {}) {
  return {.shape = "wide",
          .estimator = "ridge",
          .rows = 5,
          .columns = 7,
          .entries = 35,
          .target = 1e-2,
          .limit = 20,
          .fits = std::move(fits),
          .limited = std::move(limited),
          .errors = {}};
}

TEST(ShapeReport, ComparesTheFastestFitsOfEqualObjective) {
  const ShapeCell one =
      cell({linear("tutti", 1, 120), linear("tutti", 2, 100.5), linear("saga", 0.1, 130),
            linear("lbfgs", 4, 100), linear("newton", 6, 100)});
  EXPECT_EQ(one.ours()->cpu, 2);
  EXPECT_EQ(one.best_baseline()->system, "lbfgs");
  EXPECT_EQ(one.ratio(), 2);
}

TEST(ShapeReport, AScoreFarBelowOursIsNotEqual) {
  const ShapeCell one =
      cell({scored("tutti", 2, 0.9), scored("weak", 1, 0.8), scored("good", 3, 0.895)});
  EXPECT_EQ(one.best_baseline()->system, "good");
  EXPECT_EQ(one.ratio(), 1.5);
  EXPECT_THAT(text_of({one}), testing::Not(testing::HasSubstr("lower score")));
  const ShapeCell worse = cell({scored("tutti", 2, 0.9), scored("better", 3, 0.95)});
  EXPECT_THAT(text_of({worse}), testing::HasSubstr("lower score"));
}

TEST(ShapeReport, TheLimitBoundsTheRatio) {
  EXPECT_EQ(cell({linear("tutti", 2, 100)}, {"saga"}).ratio(), 10);
  EXPECT_EQ(cell({linear("lbfgs", 5, 100)}, {"tutti"}).ratio(), 0.25);
  EXPECT_EQ(cell({linear("tutti", 2, 100)}).ratio(), 0);  // no other system supports it
  const std::string text = text_of(
      {cell({linear("tutti", 2, 100)}, {"saga"}), cell({linear("lbfgs", 5, 100)}, {"tutti"})});
  EXPECT_THAT(text, testing::HasSubstr(">20 s"));
  EXPECT_THAT(text, testing::HasSubstr("2 cells compared: median ratio 5.12"));
  EXPECT_THAT(text, testing::HasSubstr("faster in 1"));
}

TEST(ShapeReport, RowsHaveTheGapAndTheBaseline) {
  const std::vector<Row> rows = rows_of(cell({linear("tutti", 2, 101), linear("lbfgs", 5, 100)}));
  ASSERT_EQ(rows.size(), 5);  // CPU time and time of both, ratio
  EXPECT_EQ(rows[0].metric, "cpu_time");
  EXPECT_NEAR(rows[0].fields["gap"], 0.01, 1e-12);
  EXPECT_EQ(rows.back().fields["baseline"], "lbfgs");
  EXPECT_EQ(rows.back().value, 2.5);
}

TEST(ShapeReport, ReadsTheLinesOfTwoWorkers) {
  const ScratchFolder folder;
  const auto path = folder.path() / "fits";
  const std::string fit =
      R"("settings": "tol 1", "solver": "", "why": "", "cpu": 1.5, "wall": 2, "samples": 3, "objective": 4})";
  std::ofstream(path) << R"({"estimator": "ridge", "system": "", "columns": 3, "entries": 9})"
                      << '\n'
                      << R"({"estimator": "ridge", "system": "tutti", )" << fit << '\n'
                      << R"({"estimator": "lasso", "system": "a", "error": "exit 1"})" << '\n'
                      << R"({"estimator": "ridge", "system": "b", "limit": 20})" << '\n'
                      << R"({"estimator": "ridge", "sys)";
  const std::vector<ShapeCell> cells = read_cells(path, {.shape = "tiny"});
  ASSERT_EQ(cells.size(), 2);
  EXPECT_EQ(cells[0].errors, std::vector<std::string>{"a: exit 1"});
  EXPECT_EQ(cells[1].columns, 3);
  EXPECT_EQ(cells[1].fits.at(0).cpu, 1.5);
  EXPECT_TRUE(std::isnan(cells[1].fits[0].score));
  EXPECT_EQ(cells[1].limited, std::vector<std::string>{"b"});
  std::ofstream(path) << "no json\n";
  EXPECT_THROW(read_cells(path, {}), IoError);
}

ShapeSettings parse(std::vector<std::string> options) {
  options.insert(options.begin(), "shapes");
  std::vector<char*> arguments;
  for (std::string& option : options) arguments.push_back(option.data());
  ShapeSettings settings;
  EXPECT_TRUE(parse_shapes(static_cast<int>(arguments.size()), arguments.data(), settings));
  return settings;
}

TEST(ShapeOptions, SelectShapesAndEstimators) {
  EXPECT_EQ(parse({}).shapes.size(), data_shapes().size());
  EXPECT_EQ(parse({}).estimators.size(), estimators().size());
  const ShapeSettings some = parse({"--shape", "tiny,tall", "--estimator", "ridge", "--seed", "7"});
  EXPECT_EQ(some.shapes, (std::vector<std::string>{"tiny", "tall"}));
  EXPECT_EQ(some.estimators, std::vector<std::string>{"ridge"});
  EXPECT_EQ(some.seed, 7);
  EXPECT_THROW(parse({"--shape", "round"}), ConfigError);
}

TEST(ShapeOptions, QuickKeepsEnoughRows) {
  const ShapeSettings quick = parse({"--quick"});
  for (const DataShape& shape : data_shapes()) EXPECT_GE(quick.rows_of(shape), 200) << shape.name;
}

}  // namespace
}  // namespace tutti::bench
