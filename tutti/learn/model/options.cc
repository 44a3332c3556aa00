#include "tutti/learn/model/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tutti/learn/glm/problem/options.h"
#include "tutti/learn/tree/boosting.h"

namespace tutti::learn {
namespace {

using enum OptionType;

constexpr std::string_view kLinear = "linear", kTrees = "trees", kAll = "all";

std::vector<std::string> model_names() {
  std::vector<std::string> names = linear_model_names();
  names.insert(names.end(), tree_model_names().begin(), tree_model_names().end());
  return names;
}

// The default as the user would write it.
template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}
std::string text_of(bool value) {
  return value ? "1" : "0";
}

struct Range {
  double minimum = 0, maximum = 0;  // both 0: no limit
};

// Keywords of the estimators; empty: none.
struct Keywords {
  std::string_view python = "", snap_ml = "";
};

using ChoiceAliases = std::vector<std::pair<std::string, std::string>>;

template <class T>
LearnOption row(std::string name, OptionType type, const T& value, std::string help, Range range,
                std::string_view scope, Keywords keywords = {},
                std::vector<std::string> choices = {}, ChoiceAliases choice_aliases = {}) {
  OptionSpec spec{std::move(name), type,          text_of(value),    std::move(help), "",
                  range.minimum,   range.maximum, std::move(choices)};
  spec.choice_aliases = std::move(choice_aliases);
  return {std::move(spec), scope, keywords.python, keywords.snap_ml};
}

std::vector<LearnOption> all_rows() {
  const GlmOptions glm;
  const tree::BoostOptions boosting;
  return {
      row("model", kChoice, linear_model_names()[0],
          "Loss of a linear model, or type of tree model.", {}, kAll, {}, model_names()),
      row("l1", kFloat, glm.l1,
          "Weight of the l1 norm of the coefficients, added to the sum of the losses.", {0, 1e300},
          kLinear),
      row("l2", kFloat, glm.l2,
          "Weight of half the squared l2 norm of the coefficients, added to the sum of the losses.",
          {0, 1e300}, kLinear, {"", "regularizer=1.0"}),
      row("fit_intercept", kBool, glm.fit_intercept, "Fit an unpenalised intercept.", {}, kLinear,
          {"fit_intercept", "fit_intercept=False"}),
      row("solver", kChoice, name_of(glm.solver),
          "Solver; auto: chosen by loss, penalties and shape.", {}, kLinear, {"solver"},
          solver_names(), {{"interior", "interior_point"}}),
      row("tolerance", kFloat, glm.tolerance, "Relative duality gap at which the solver stops.",
          {0, 1e9}, kLinear, {"tol", "tol=0.001"}),
      row("max_iterations", kInt, glm.max_iterations, "Maximum number of iterations.",
          {0, 2147483647}, kLinear, {"max_iter", "max_iter=1000"}),
      row("task", kChoice, "auto", "Classification or regression; auto: chosen by the labels.", {},
          kTrees, {}, {"auto", "classification", "regression"},
          {{"classes", "classification"}, {"numbers", "regression"}}),
      row("trees", kInt, boosting.rounds, "Number of trees of a forest, or boosting rounds.",
          {1, 1e6}, kTrees, {"n_estimators, max_iter, num_round"}),
      row("max_depth", kInt, boosting.max_depth, "Maximum depth of a tree; 0: no limit.", {0, 1e9},
          kTrees, {"max_depth (None: no limit)"}),
      row("max_leaves", kInt, boosting.max_leaves,
          "Maximum number of leaves of a boosted tree; 0: no limit.", {0, 1e9}, kTrees,
          {"max_leaf_nodes"}),
      row("learning_rate", kFloat, boosting.learning_rate, "Learning rate (shrinkage) of boosting.",
          {0, 1e9}, kTrees, {"learning_rate"}),
      row("exact_splits", kBool, boosting.exact_splits,
          "Exact splits between any two values instead of between 255 bins.", {}, kTrees,
          {"use_histograms (its opposite)"}),
      row("seed", kInt, glm.seed, "Seed of the random number generator.", {0, 9.2e18}, kAll,
          {"random_state"}),
      row("threads", kInt, glm.threads, "Number of threads; 0: one per CPU.", {0, 1024}, kAll,
          {"n_jobs (None: all)", "num_threads=None"}),
      row("memory_limit", kBytes, boosting.memory_limit,
          "Memory limit in bytes of training from a data file; 0: no limit.", {0, 1e18}, kAll,
          {"memory_limit (None: no limit)", "memory_limit=None"}),
  };
}

std::string range_of(const OptionSpec& spec) {
  if (spec.type == kChoice) return fmt::format("{}", fmt::join(spec.choices, ", "));
  if (spec.type == kBool) return "0 or 1";
  return fmt::format("{:g} to {:g}", spec.minimum, spec.maximum);
}

}  // namespace

const std::vector<std::string>& linear_model_names() {
  static const std::vector<std::string> names = {"logistic", "hinge",   "squared_hinge",
                                                 "squared",  "poisson", "gamma"};
  return names;
}

const std::vector<std::string>& tree_model_names() {
  static const std::vector<std::string> names = {"tree", "forest", "extra_trees", "boosting"};
  return names;
}

const std::vector<LearnOption>& learn_options() {
  static const std::vector<LearnOption> rows = all_rows();
  return rows;
}

const OptionTable& train_options() {
  static const OptionTable table = [] {
    OptionTable specs;
    for (const LearnOption& option : learn_options()) specs.push_back(option.spec);
    return specs;
  }();
  return table;
}

std::string learn_options_markdown() {
  std::string page =
      "# Options of linear models and trees\n\n"
      "`tutti learn train --NAME VALUE`, with dashes for underscores; `--no-intercept` for "
      "`fit_intercept` 0. The next columns are keywords of the estimators in `tutti.learn`, with "
      "the same defaults, and keywords of `snap_ml` with separate defaults.\n\n"
      "| option | default | range | models | tutti.learn | snap_ml | meaning |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const LearnOption& option : learn_options()) {
    const OptionSpec& spec = option.spec;
    std::vector<std::string> old_names;
    for (const auto& [old_choice, choice] : spec.choice_aliases)
      old_names.push_back(fmt::format("`{}={}`", spec.name, old_choice));
    const std::string formerly =
        old_names.empty() ? "" : fmt::format(" Formerly {}.", fmt::join(old_names, ", "));
    page += fmt::format("| `{}` | `{}` | {} | {} | {} | {} | {}{} |\n", spec.name,
                        spec.default_value, range_of(spec), option.scope, option.python,
                        option.snap_ml, spec.help, formerly);
  }
  return page;
}

}  // namespace tutti::learn
