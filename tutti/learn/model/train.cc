#include "tutti/learn/model/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/glm/fit.h"
#include "tutti/learn/glm/fit_file.h"
#include "tutti/learn/glm/multinomial.h"
#include "tutti/learn/tree/bins/joined_chunks.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"

namespace tutti::learn {
namespace {

// Maximum number of distinct labels for task=auto to choose classification.
constexpr std::size_t kMaxClasses = 100;

bool is_trees(const TrainSettings& settings) {
  const auto& names = tree_model_names();
  return std::find(names.begin(), names.end(), settings.options.text("model")) != names.end();
}

std::vector<double> distinct(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

void check_labels(std::size_t labels, std::int64_t rows) {
  if (static_cast<std::int64_t>(labels) != rows)
    throw ConfigError("DDL-9-05", "The training data has no labels.");
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0';
}

// One field that is not a number makes its whole column categorical. If most categories are numbers, this is reported
// as an error in the data.
void check_categories(const StringCategories& categories) {
  constexpr std::size_t kMaxCodes = 100;  // number of numeric categories that are accepted
  for (const int column : categories.categorical()) {
    const auto& all = categories.columns[column];
    const auto numbers = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_number));
    if (numbers <= kMaxCodes || 2 * numbers <= all.size()) continue;
    const auto category = std::find_if_not(all.begin(), all.end(), is_number);
    throw ConfigError("DDL-9-05",
                      fmt::format("Column {} is numeric but contains '{}'. Correct that field, or "
                                  "leave it empty if the value is missing.",
                                  column, *category));
  }
}

int count_of(const Options& options, std::string_view name) {
  return static_cast<int>(options.integer(name));
}

GlmOptions options_of(const TrainSettings& settings, Loss loss) {
  const Options& given = settings.options;
  GlmOptions options{.loss = loss,
                     .l1 = given.number("l1"),
                     .l2 = given.number("l2"),
                     .fit_intercept = given.flag("fit_intercept"),
                     .solver = parse_solver(given.text("solver")),
                     .tolerance = given.number("tolerance"),
                     .max_iterations = count_of(given, "max_iterations"),
                     .threads = count_of(given, "threads"),
                     .seed = static_cast<std::uint64_t>(given.integer("seed"))};
  if (settings.on_progress)
    options.on_progress = [&settings](const Progress& p) {
      return settings.on_progress(
          fmt::format("iteration {}, {:.1f} s, objective {:.8g}, gap {:.2g}", p.iteration,
                      p.seconds, p.objective, p.dual_gap));
    };
  options.should_stop = settings.should_stop;
  return options;
}

using FitOne = std::function<GlmModel(std::span<const double> labels, const GlmOptions& options)>;

template <class Model>
void warn_of(const Model& found, const TrainSettings& settings) {
  if (found.has_converged || (settings.should_stop && settings.should_stop())) return;
  log::warning("the duality gap is {:.2g}, above --tolerance {:g} times the objective {:.8g}; {}",
               found.dual_gap, settings.options.number("tolerance"), found.objective,
               static_cast<int>(found.history.size()) < count_of(settings.options, "max_iterations")
                   ? "it is limited by floating-point precision: use --f64"
                   : "--max-iterations was reached");
}

// Fits one model, or one-vs-rest models for several classes.
void fit_parts(const FitOne& fit_one, const std::vector<double>& labels, const GlmOptions& options,
               const TrainSettings& settings, SavedModel& model) {
  const auto add = [&](std::span<const double> targets) {
    GlmModel found = fit_one(targets, options);
    warn_of(found, settings);
    if (settings.on_solver && model.parts.empty())
      settings.on_solver(fmt::format("{}: {}", name_of(found.solver), found.why));
    model.parts.push_back({std::move(found.coefficients), found.intercept});
  };
  if (model.classes.empty()) return add(labels);
  std::vector<double> signs(labels.size());
  for (std::size_t k = model.classes.size() == 2 ? 1 : 0; k < model.classes.size(); ++k) {
    for (std::size_t row = 0; row < labels.size(); ++row)
      signs[row] = labels[row] == model.classes[k] ? 1 : -1;
    add(signs);
  }
}

std::vector<std::int32_t> codes_of(const std::vector<double>& labels,
                                   const std::vector<double>& classes) {
  std::vector<std::int32_t> codes;
  for (const double label : labels)
    codes.push_back(static_cast<std::int32_t>(
        std::lower_bound(classes.begin(), classes.end(), label) - classes.begin()));
  return codes;
}

// Stores a multinomial model.
void store_multinomial(const MultinomialModel& found, const TrainSettings& settings,
                       SavedModel& model) {
  warn_of(found, settings);
  model.is_multinomial = true;
  const std::ptrdiff_t columns = one_hot_columns(model.columns, model.categories);
  for (std::size_t k = 0; k < model.classes.size(); ++k) {
    const auto begin = found.coefficients.begin() + static_cast<std::ptrdiff_t>(k) * columns;
    model.parts.push_back({{begin, begin + columns}, found.intercepts[k]});
  }
}

SavedModel linear_model(const TrainSettings& settings, Loss loss, const std::vector<double>& labels,
                        std::int64_t columns) {
  SavedModel model{.name = settings.options.text("model"),
                   .columns = columns,
                   .classes = {},
                   .parts = {},
                   .trees = {}};
  model.has_log_link = loss == Loss::kPoisson || loss == Loss::kGamma;
  if (!is_classification(loss)) return model;
  model.classes = distinct(labels);
  if (model.classes.size() < 2)
    throw ConfigError("DDL-9-05",
                      "All labels are equal; classification needs at least two classes.");
  return model;
}

// Returns whether the task is classification.
bool are_classes(const TrainSettings& settings, const std::vector<double>& labels,
                 const std::vector<double>& values, bool has_string_labels) {
  const std::string& task = settings.options.text("task");
  if (has_string_labels) return true;
  if (task != "auto") return task == "classification";
  return values.size() <= std::min(kMaxClasses, labels.size() / 2) &&
         std::all_of(values.begin(), values.end(), [](double v) { return v == std::round(v); });
}

// Sets the options that forests and boosting share.
template <class TreeOptions>
void set_common(const TrainSettings& settings, const DataSet& data, TreeOptions& options) {
  const Options& given = settings.options;
  options.max_depth = count_of(given, "max_depth");
  options.seed = static_cast<std::uint64_t>(given.integer("seed"));
  options.exact_splits = given.flag("exact_splits");
  options.memory_limit = given.integer("memory_limit");
  options.bins.categorical = data.categories.categorical();
}

tree::Model grow_forest(const DataSet& data, const TrainSettings& settings,
                        const std::vector<double>& targets, int classes, Threads& threads) {
  const std::string& model = settings.options.text("model");
  tree::ForestOptions options{.trees = model == "tree" ? 1 : count_of(settings.options, "trees"),
                              .classes = classes};
  set_common(settings, data, options);
  options.bootstrap = model == "forest";
  options.random_thresholds = model == "extra_trees";
  const double columns = static_cast<double>(data.features.columns);
  if (model != "tree" && classes > 0)
    options.columns_per_node = std::max(1, static_cast<int>(std::sqrt(columns)));
  if (settings.on_progress)
    options.progress = [&](int trees) {
      return settings.on_progress(fmt::format("tree {} of {}", trees, options.trees));
    };
  return tree::train_forest(data.features, {targets, data.weights}, options, threads);
}

tree::Model boost(const DataSet& data, const TrainSettings& settings,
                  const std::vector<double>& targets, int classes, Threads& threads) {
  tree::BoostOptions options;
  set_common(settings, data, options);
  options.objective = classes == 0 ? "squared_error" : classes == 2 ? "logistic" : "softmax";
  options.classes = classes > 2 ? classes : 0;
  options.rounds = count_of(settings.options, "trees");
  options.learning_rate = settings.options.number("learning_rate");
  options.max_leaves = count_of(settings.options, "max_leaves");
  if (settings.on_progress)
    options.progress = [&](int round, double) {
      return settings.on_progress(fmt::format("round {} of {}", round, options.rounds));
    };
  return tree::train_boosting(data.features, {targets, data.weights}, options, threads).model;
}

SavedModel train_trees(const DataSet& data, const TrainSettings& settings) {
  SavedModel model{.name = settings.options.text("model"),
                   .columns = data.features.columns,
                   .classes = {},
                   .parts = {},
                   .trees = {}};
  std::vector<double> targets = data.labels;
  const std::vector<double> values = distinct(data.labels);
  if (are_classes(settings, data.labels, values, !data.categories.labels.empty())) {
    model.classes = values;
    const std::vector<std::int32_t> codes = codes_of(data.labels, values);
    targets.assign(codes.begin(), codes.end());
  }
  Threads threads(count_of(settings.options, "threads"));
  const int classes = static_cast<int>(model.classes.size());
  model.categories = data.categories;
  model.trees = settings.options.text("model") == "boosting"
                    ? boost(data, settings, targets, classes, threads)
                    : grow_forest(data, settings, targets, classes, threads);
  return model;
}

}  // namespace

SavedModel train(const DataSet& data, const TrainSettings& settings) {
  check_labels(data.labels.size(), data.features.rows);
  check_categories(data.categories);
  if (is_trees(settings)) return train_trees(data, settings);
  const Loss loss = parse_loss(settings.options.text("model"));
  if (!is_classification(loss) && !data.categories.labels.empty())
    throw ConfigError("DDL-9-05",
                      fmt::format("The labels are strings, such as '{}', but model '{}' predicts "
                                  "numbers. Select the label column with --label.",
                                  data.categories.labels[0], settings.options.text("model")));
  SavedModel model = linear_model(settings, loss, data.labels, data.features.columns);
  model.categories = data.categories;
  const Matrix numbers = one_hot_encode(data.features, data.categories);
  const GlmOptions options = options_of(settings, loss);
  if (loss == Loss::kLogistic && model.classes.size() > 2) {
    store_multinomial(
        fit_multinomial(numbers, codes_of(data.labels, model.classes),
                        static_cast<int>(model.classes.size()), data.weights, options),
        settings, model);
  } else {
    fit_parts([&](std::span<const double> labels,
                  const GlmOptions& asked) { return fit(numbers, labels, data.weights, asked); },
              data.labels, options, settings, model);
  }
  return model;
}

SavedModel train(const std::shared_ptr<const DataFile>& file, const TrainSettings& settings) {
  const std::vector<double> labels = file->labels(), weights = file->weights();
  check_labels(labels.size(), file->rows());
  if (is_trees(settings)) {
    Threads threads(count_of(settings.options, "threads"));
    const auto folder = std::filesystem::temp_directory_path();
    return train_trees({.features = tree::join_chunks(*file, folder, threads),
                        .labels = labels,
                        .weights = weights},
                       settings);
  }
  const Loss loss = parse_loss(settings.options.text("model"));
  SavedModel model = linear_model(settings, loss, labels, file->schema().columns);
  if (loss == Loss::kLogistic && model.classes.size() > 2) {
    const auto codes = codes_of(labels, model.classes);
    store_multinomial(
        fit_multinomial_file(file, codes, static_cast<int>(model.classes.size()), weights,
                             options_of(settings, loss), settings.options.integer("memory_limit")),
        settings, model);
    return model;
  }
  fit_parts(
      [&](std::span<const double> targets, const GlmOptions& asked) {
        return fit_file(file, targets, weights, asked, settings.options.integer("memory_limit"));
      },
      labels, options_of(settings, loss), settings, model);
  return model;
}

}  // namespace tutti::learn
