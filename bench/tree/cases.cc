#include "bench/tree/cases.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/harness/deprecated_option.h"
#include "tutti/core/error.h"

namespace tutti::bench {

bool parse_tree(int argc, char** argv, TreeSettings& settings) {
  CLI::App app("Compares training and prediction of trees with scikit-learn and XGBoost",
               "tutti bench tree");
  settings.cases = {"tree", "deep_tree", "boosting", "forest"};
  settings.baselines = {"sklearn", "sklearn_hist", "xgboost"};
  app.add_option("--cases", settings.cases, "problems: tree, deep_tree, boosting, forest")
      ->delimiter(',')
      ->check(CLI::IsMember({"tree", "deep_tree", "boosting", "forest"}));
  accept_deprecated<std::vector<std::string>>(app, "--peers", "--baselines");
  app.add_option("--baselines", settings.baselines,
                 "systems to compare with: sklearn, sklearn_hist, xgboost, or none")
      ->delimiter(',')
      ->check(CLI::IsMember({"sklearn", "sklearn_hist", "xgboost", "none"}));
  app.add_option("--rows", settings.rows, "number of training rows (default: depends on the case)");
  accept_deprecated(app, "--leaf-rows", "--min-samples-leaf");
  app.add_option("--min-samples-leaf", settings.min_samples_leaf,
                 "minimum number of rows in a leaf of a tree or forest, in all systems")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", settings.threads, "number of threads of each system")
      ->capture_default_str();
  app.add_option("--repeats", settings.repeats,
                 "number of fits; baselines that take more than 10 s are fitted once")
      ->capture_default_str();
  settings.row_file.declare(app);
  app.add_flag("--quick", settings.is_quick, "1 % of the rows, one fit");
  app.add_option("--timeout", settings.timeout, "time limit of a baseline in seconds")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    throw ConfigError("DDL-8-30", std::string(error.what()) + " See tutti bench tree --help.");
  }
  if (settings.is_quick) settings.repeats = 1, settings.test_rows = 20'000;
  return true;
}

std::vector<TreeCase> cases_of(const TreeSettings& settings) {
  const std::vector<TreeCase> all = {
      {"tree", 1'000'000, 8, 1, 0, {"sklearn"}},
      {"deep_tree", 1'000'000, 16, 1, 0, {"sklearn"}},
      {"boosting", 1'000'000, 0, 100, 255, {"sklearn_hist", "xgboost"}},
      {"forest", 100'000, 0, 100, 0, {"sklearn"}},
  };
  std::vector<TreeCase> chosen;
  for (TreeCase one : all) {
    if (std::find(settings.cases.begin(), settings.cases.end(), one.name) == settings.cases.end())
      continue;
    if (settings.rows > 0) one.rows = settings.rows;
    one.min_samples_leaf = settings.min_samples_leaf;
    if (settings.is_quick) one.rows = std::max<std::int64_t>(2000, one.rows / 100);
    if (settings.is_quick) one.trees = std::min(one.trees, 10);
    std::erase_if(one.baselines, [&](const std::string& baseline) {
      return std::find(settings.baselines.begin(), settings.baselines.end(), baseline) ==
             settings.baselines.end();
    });
    chosen.push_back(one);
  }
  return chosen;
}

std::vector<std::string> newest_baselines(const TreeCase& one) {
  std::vector<std::string> found = one.baselines;
  if (found.empty()) return found;
  if (one.name == "boosting") found.insert(found.end(), {"lightgbm", "catboost"});
  if (one.name == "forest") found.emplace_back("sklearnex");
  return found;
}

}  // namespace tutti::bench
