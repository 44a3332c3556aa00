#include "bench/tree/cases.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tutti/core/error.h"

namespace tutti::bench {

bool parse_tree(int argc, char** argv, TreeSettings& settings) {
  CLI::App app("Fitting and asking trees, beside scikit-learn and XGBoost.", "tutti bench tree");
  settings.cases = {"tree", "deep_tree", "boosting", "forest"};
  settings.peers = {"sklearn", "sklearn_hist", "xgboost"};
  app.add_option("--cases", settings.cases, "Which: tree, deep_tree, boosting, forest")
      ->delimiter(',')
      ->check(CLI::IsMember({"tree", "deep_tree", "boosting", "forest"}));
  app.add_option("--peers", settings.peers,
                 "Beside whom: sklearn, sklearn_hist, xgboost; none for ours alone")
      ->delimiter(',')
      ->check(CLI::IsMember({"sklearn", "sklearn_hist", "xgboost", "none"}));
  app.add_option("--rows", settings.rows, "Rows to learn from (default: those of each case)");
  app.add_option("--leaf-rows", settings.leaf_rows,
                 "Rows that a leaf of a tree or forest has at least, in every system")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", settings.threads, "Threads of every system")->capture_default_str();
  app.add_option("--repeats", settings.repeats,
                 "Fits of ours, and of peers that need less than 10 s")
      ->capture_default_str();
  settings.row_file.declare(app);
  app.add_flag("--quick", settings.is_quick, "A hundredth of the rows, once");
  app.add_option("--timeout", settings.timeout, "Seconds that a peer may take")
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
    one.leaf_rows = settings.leaf_rows;
    if (settings.is_quick) one.rows = std::max<std::int64_t>(2000, one.rows / 100);
    if (settings.is_quick) one.trees = std::min(one.trees, 10);
    std::erase_if(one.peers, [&](const std::string& peer) {
      return std::find(settings.peers.begin(), settings.peers.end(), peer) == settings.peers.end();
    });
    chosen.push_back(one);
  }
  return chosen;
}

}  // namespace tutti::bench
