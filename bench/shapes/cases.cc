#include "bench/shapes/cases.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

constexpr std::int64_t kMinRows = 200;
constexpr double kQuickScale = 0.02;

constexpr std::array<DataShape, 16> kShapes = {{
    {"tall", "2M x 5, f32", 2'000'000},
    {"wide", "500 x 20,000, f32", 500},
    {"text", "11,000 x 130,000, sparse, word counts with Zipf's distribution", 11'000},
    {"rare", "400,000 x 20, f32, one label in 1000 is 1", 400'000},
    {"correlated", "30,000 x 300, f32, 10 factors and noise", 30'000},
    {"integers", "200,000 x 30, f32, values 0 to 9", 200'000},
    {"small", "4,000 x 50, f64", 4'000},
    {"tiny", "200 x 10, f64", 200},
    {"column", "500,000 x 1, f32", 500'000},
    {"square", "3,000 x 3,000, f64", 3'000},
    {"onehot", "100,000 x 50,000, sparse, 20 ones per row", 100'000},
    {"tfidf", "11,000 x 130,000, sparse, rows of unit norm", 11'000},
    {"heavy", "100,000 x 20, f32, heavy tails, scales from 0.001 to 1000", 100'000},
    {"duplicated", "50,000 x 60, f64, every column twice", 50'000},
    {"classes", "20,000 x 40, f32, 10 classes", 20'000},
    {"frame", "100,000 x 50, pandas data frame, f64", 100'000},
}};

constexpr std::array<std::string_view, 9> kEstimators = {
    "logistic_l2",   "logistic_l1", "ridge",  "lasso",   "hinge",
    "squared_hinge", "tree",        "forest", "boosting"};

}  // namespace

std::span<const DataShape> data_shapes() {
  return kShapes;
}

std::span<const std::string_view> estimators() {
  return kEstimators;
}

std::int64_t ShapeSettings::rows_of(const DataShape& shape) const {
  const auto scaled = static_cast<std::int64_t>(static_cast<double>(shape.rows) * scale);
  return std::max(std::min(kMinRows, shape.rows), scaled);
}

bool parse_shapes(int argc, char** argv, ShapeSettings& settings) {
  CLI::App app("Compares all estimators with other libraries on data of many shapes",
               "tutti bench shapes");
  std::vector<std::string> shapes, names;
  for (const DataShape& shape : kShapes) shapes.emplace_back(shape.name);
  for (const std::string_view name : kEstimators) names.emplace_back(name);
  bool has_no_baselines = false;
  app.add_option("--shape", settings.shapes, "shapes of data, comma-separated [all]")
      ->delimiter(',')
      ->check(CLI::IsMember(shapes));
  app.add_option("--estimator", settings.estimators, "estimators, comma-separated [all]")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--seed", settings.seed, "seed of the generated data")->capture_default_str();
  app.add_option("--scale", settings.scale, "fraction of the rows")
      ->check(CLI::Range(1e-4, 100.0))
      ->capture_default_str();
  app.add_option("--seconds", settings.seconds, "limit of the CPU time of one fit")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  app.add_option("--gap", settings.target, "relative gap of the objective to reach")
      ->check(CLI::Range(1e-9, 1.0))
      ->capture_default_str();
  app.add_flag("--no-baselines", has_no_baselines, "measure only Tutti");
  app.add_flag("--quick", settings.is_quick, "2 % of the rows, one fit of each, at most 5 s");
  settings.row_file.declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    throw ConfigError("DDL-8-30", std::string(error.what()) + " See tutti bench shapes --help.");
  }
  if (settings.shapes.empty()) settings.shapes = shapes;
  if (settings.estimators.empty()) settings.estimators = names;
  if (has_no_baselines) settings.systems = "tutti";
  if (settings.is_quick) settings.scale = kQuickScale, settings.seconds = 5;
  return true;
}

}  // namespace tutti::bench
