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

template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}
std::string text_of(bool value) {
  return value ? "1" : "0";
}

std::vector<LearnOption> linear_rows() {
  const GlmOptions glm;
  return {
      {{"l1", kFloat, text_of(glm.l1),
        "Weight of the l1 norm of the coefficients, added to the sum of the losses.", "", 0, 1e300},
       kLinear,
       "",
       ""},
      {{"l2", kFloat, text_of(glm.l2),
        "Weight of half the squared l2 norm of the coefficients, added likewise.", "", 0, 1e300},
       kLinear,
       "",
       "regularizer=1.0"},
      {{"fit_intercept", kBool, text_of(glm.fit_intercept), "Fit an unpenalised intercept.", ""},
       kLinear,
       "fit_intercept",
       "fit_intercept=False"},
      {{"solver", kChoice, std::string(name_of(glm.solver)), "Solver; auto: by loss and shape.", "",
        0, 0, solver_names()},
       kLinear,
       "solver",
       ""},
      {{"tolerance", kFloat, text_of(glm.tolerance), "Relative duality gap at which a fit ends.",
        "", 0, 1e9},
       kLinear,
       "tol",
       "tol=0.001"},
      {{"max_iterations", kInt, text_of(glm.max_iterations), "Most iterations of a solver.", "", 0,
        2147483647},
       kLinear,
       "max_iter",
       "max_iter=1000"},
  };
}

std::vector<LearnOption> tree_rows() {
  const tree::BoostOptions boosting;
  return {
      {{"task",
        kChoice,
        "auto",
        "Labels are classes or numbers; auto: decided by the labels.",
        "",
        0,
        0,
        {"auto", "classes", "numbers"}},
       kTrees,
       "",
       ""},
      {{"trees", kInt, text_of(boosting.rounds), "Trees of a forest; rounds of boosting.", "", 1,
        1e6},
       kTrees,
       "n_estimators, max_iter, num_round",
       ""},
      {{"max_depth", kInt, text_of(boosting.max_depth), "Most levels of a tree; 0: no limit.", "",
        0, 1e9},
       kTrees,
       "max_depth (None: no limit)",
       ""},
      {{"max_leaves", kInt, text_of(boosting.max_leaves),
        "Most leaves of a tree of boosting; 0: no limit.", "", 0, 1e9},
       kTrees,
       "max_leaf_nodes",
       ""},
      {{"learning_rate", kFloat, text_of(boosting.learning_rate), "Shrinkage of boosting.", "", 0,
        1e9},
       kTrees,
       "learning_rate",
       ""},
      {{"exact_splits", kBool, text_of(boosting.exact_splits),
        "Split between any two values instead of 255 bins.", ""},
       kTrees,
       "use_histograms (its opposite)",
       ""},
  };
}

std::vector<LearnOption> common_rows() {
  const GlmOptions glm;
  const tree::BoostOptions boosting;
  return {
      {{"seed", kInt, text_of(glm.seed), "Seed of the random numbers.", "", 0, 9.2e18},
       kAll,
       "random_state",
       ""},
      {{"threads", kInt, text_of(glm.threads), "Threads of a fit; 0: one per CPU.", "", 0, 1024},
       kAll,
       "n_jobs (None: all)",
       "num_threads=None"},
      {{"memory_limit", kBytes, text_of(boosting.memory_limit),
        "Bytes that a fit from a data file may use; 0: no limit.", "", 0, 1e18},
       kAll,
       "memory_limit (None: no limit)",
       "memory_limit=None"},
  };
}

std::vector<LearnOption> all_rows() {
  std::vector<LearnOption> rows = {
      {{"model", kChoice, linear_model_names()[0], "Loss of a linear model, or kind of trees.", "",
        0, 0, model_names()},
       kAll,
       "",
       ""}};
  for (const auto& more : {linear_rows(), tree_rows(), common_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
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
      "the same defaults, and those of `snap_ml` with its own.\n\n"
      "| option | default | range | models | tutti.learn | snap_ml | meaning |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const LearnOption& option : learn_options()) {
    const OptionSpec& spec = option.spec;
    page += fmt::format("| `{}` | `{}` | {} | {} | {} | {} | {} |\n", spec.name, spec.default_value,
                        range_of(spec), option.scope, option.python, option.snap_ml, spec.help);
  }
  return page;
}

}  // namespace tutti::learn
