#include "apps/tutti/learn.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>

#include "apps/tutti/command.h"
#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/learn/data/any_file.h"
#include "tutti/learn/model/predict.h"
#include "tutti/learn/model/train.h"
#include "tutti/os/output_file.h"

namespace tutti::app {
namespace {

using namespace learn;

std::atomic<bool> is_interrupted = false;

// The first Ctrl-C ends the fit and keeps the current model; a second one ends the program.
void listen_for_interrupt() {
  std::signal(SIGINT, [](int) {
    is_interrupted = true;
    std::signal(SIGINT, SIG_DFL);
  });
}

// Parses the command line. Returns false, with the exit code in `code`, if the command must not run.
bool parse(CLI::App& app, int argc, char** argv, int& code) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    code = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  return true;
}

void add_file_options(CLI::App& app, AnyFileOptions& options) {
  app.add_option("--format", options.kind,
                 "file format: tutti, svmlight, csv, npy, npz, hdf5, snap [by contents or name]");
  app.add_option("--label", options.label, "CSV: name or index of the label column, or none");
  app.add_option("--columns", options.columns, "svmlight: number of columns [largest index]");
  app.add_flag_callback(
      "--f64", [&options] { options.dtype = DType::kF64; },
      "svmlight, CSV: read values as f64 [f32]");
  app.add_option("--threads", options.threads, "number of threads; 0: one per CPU [0]")
      ->check(CLI::Range(0, 1024));
}

std::string chunks_text(std::int64_t chunks) {
  return fmt::format("{} chunk{}", chunks, chunks == 1 ? "" : "s");
}

std::string shape_text(const Matrix& m) {
  return fmt::format("{} rows, {} columns, {}, {}", m.rows, m.columns,
                     m.is_sparse() ? fmt::format("{} entries", m.entries()) : "dense",
                     m.dtype == DType::kF32 ? "f32" : "f64");
}

// Prints the categories of string columns and labels in the order of their codes.
void print_categories(const StringCategories& categories) {
  static constexpr std::size_t kMaxShown = 20;
  const auto print = [](const std::string& what, const std::vector<std::string>& all) {
    const std::vector<std::string> shown(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxShown, all.size())));
    fmt::print("{}: {} categories, codes from 0: {}{}\n", what, all.size(), fmt::join(shown, ", "),
               all.size() > kMaxShown ? ", ..." : "");
  };
  for (const int column : categories.categorical())
    print(fmt::format("column {}", column), categories.columns[column]);
  if (!categories.labels.empty()) print("labels", categories.labels);
}

// Progress lines, at most one per second; short fits print none.
class Lines {
 public:
  bool show(const std::string& line) {
    if (watch_.seconds() >= next_) {
      fmt::print(stderr, "{}\n", line);
      next_ = watch_.seconds() + 1;
    }
    return !is_interrupted;
  }

 private:
  Stopwatch watch_;
  double next_ = 1;
};

struct TrainCommand {
  std::string data, out, test;
  AnyFileOptions file;
  TrainSettings settings;
};

std::string flag_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

// Deprecated spellings of an option, which the help does not list.
void add_aliases(CLI::App& app, const OptionSpec& spec, Options& options) {
  for (const std::string& alias : spec.aliases) {
    const auto set = [&options, alias](const std::string& text) {
      options.set(alias, text, "command line");
    };
    CLI::Option* added = spec.type == OptionType::kBool
                             ? app.add_flag_callback(flag_of(alias), [set] { set("1"); })
                             : app.add_option_function<std::string>(flag_of(alias), set);
    added->group("");
  }
}

// Adds an option of the table. `threads` is declared by add_file_options().
void add_table_option(CLI::App& app, const LearnOption& option, Options& options) {
  const OptionSpec& spec = option.spec;
  const std::string flag = flag_of(spec.name);
  const auto set = [&options, name = spec.name](const std::string& text) {
    options.set(name, text, "command line");
  };
  const std::string scope = option.scope == "all" ? "" : fmt::format("{}: ", option.scope);
  if (spec.name == "fit_intercept") {
    app.add_flag_callback("--no-intercept", [set] { set("0"); }, scope + "no intercept");
  } else if (spec.type == OptionType::kBool) {
    app.add_flag_callback(flag, [set] { set("1"); }, scope + spec.help);
  } else {
    std::string help = fmt::format("{}{} [{}]", scope, spec.help, spec.default_value);
    if (!spec.choices.empty()) help += fmt::format(" {}", fmt::join(spec.choices, ", "));
    app.add_option_function<std::string>(flag, set, help);
  }
  add_aliases(app, spec, options);
}

void add_train_options(CLI::App& app, TrainCommand& command) {
  app.add_option("data", command.data, "training data file")->required();
  app.add_option("--out", command.out, "output file for the model")->required();
  app.add_option("--test", command.test, "data file to evaluate the model on");
  for (const LearnOption& option : learn_options())
    if (option.spec.name != "threads") add_table_option(app, option, command.settings.options);
  add_file_options(app, command.file);
}

// Saves the model to `out`. If that fails, saves it to the temporary directory, so the fit is not lost.
void keep_model(const std::string& out, const SavedModel& model) try {
  save_model(out, model);
} catch (const IoError& error) {
  std::string folder = std::filesystem::temp_directory_path() / "tutti-model-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw;
  const std::string fallback = folder + "/model.json";
  try {
    save_model(fallback, model);
  } catch (const IoError&) {
    std::filesystem::remove_all(folder);
    throw error;
  }
  throw IoError("DDL-9-02", fmt::format("{}: cannot write the model. It was saved to {} instead.",
                                        out, fallback));
}

int run_learn_train(int argc, char** argv) {
  CLI::App app("Trains a model on a data file", "tutti learn train");
  TrainCommand command;
  add_train_options(app, command);
  int code = 0;
  if (!parse(app, argc, argv, code)) return code;
  os::check_writable(command.out);
  TrainSettings& settings = command.settings;
  const int threads = command.file.threads;
  settings.options.set("threads", std::to_string(threads), "command line");
  Lines lines;
  settings.on_progress = [&](const std::string& line) { return lines.show(line); };
  settings.should_stop = [] { return is_interrupted.load(); };
  std::string solver;
  settings.on_solver = [&](const std::string& line) { solver = line; };
  listen_for_interrupt();
  const Stopwatch watch;
  const bool is_streamed = settings.options.integer("memory_limit") > 0;
  SavedModel model;
  if (is_streamed) {
    const auto file = std::make_shared<DataFile>(command.data);
    fmt::print("{}: {} rows, {} columns in {}\n", command.data, file->rows(),
               file->schema().columns, chunks_text(file->chunks()));
    model = train(file, settings);
  } else {
    command.file.parse_strings = true;
    const DataSet data = read_any(command.data, command.file);
    fmt::print("{}: {}, read in {:.2f} s\n", command.data, shape_text(data.features),
               watch.seconds());
    if (const auto categories = data.categories.categorical(); !categories.empty())
      fmt::print("categorical columns, counted from 0: {}\n", fmt::join(categories, ", "));
    const Stopwatch fitting;
    model = train(data, settings);
    fmt::print("fitted in {:.2f} s{}\n", fitting.seconds(),
               is_interrupted ? ", interrupted: the model is the last iterate" : "");
    if (!solver.empty()) fmt::print("solver {}\n", solver);
    fmt::print("on the training data: {}\n",
               quality_of(model, predict(model, data.features, threads), data.labels));
  }
  keep_model(command.out, model);
  fmt::print("{} written\n", command.out);
  if (command.test.empty()) return 0;
  AnyFileOptions test_file = command.file;
  if (test_file.columns == 0) test_file.columns = model.columns;
  test_file.parse_strings = false;
  test_file.known_categories = model.categories;
  const DataSet test = read_any(command.test, test_file);
  if (test.labels.empty())
    throw ConfigError("DDL-9-05",
                      fmt::format("{} has no labels. Evaluation needs labels.", command.test));
  fmt::print("on {}: {}\n", command.test,
             quality_of(model, predict(model, test.features, threads), test.labels));
  return 0;
}

int run_learn_predict(int argc, char** argv) {
  CLI::App app("Predicts the labels of a data file, one line per row", "tutti learn predict");
  std::string model_path, data_path, out;
  bool wants_probabilities = false;
  AnyFileOptions options;
  app.add_option("model", model_path, "model file, written by `tutti learn train`")->required();
  app.add_option("data", data_path, "data file")->required();
  app.add_option("--out", out, "output file for the predictions [standard output]");
  app.add_flag("--probabilities", wants_probabilities, "also write the probability of each class");
  add_file_options(app, options);
  int code = 0;
  if (!parse(app, argc, argv, code)) return code;
  if (!out.empty()) os::check_writable(out);
  const SavedModel model = load_model(model_path);
  if (wants_probabilities && !model.has_probabilities())
    throw ConfigError("DDL-9-05",
                      fmt::format("Model '{}' has no probabilities. Remove --probabilities, or "
                                  "train a logistic model or trees.",
                                  model.name));
  if (options.columns == 0) options.columns = model.columns;
  options.known_categories = model.categories;
  const DataSet data = read_any(data_path, options);
  const Predictions found = predict(model, data.features, options.threads);
  std::string text;
  const std::size_t classes = wants_probabilities ? model.classes.size() : 0;
  for (std::size_t row = 0; row < found.values.size(); ++row) {
    text += label_text(model, found.values[row]);
    for (std::size_t k = 0; k < classes; ++k)
      text += fmt::format(",{}", found.probabilities[row * classes + k]);
    text += '\n';
  }
  if (out.empty()) {
    fmt::print("{}", text);
  } else {
    os::write_whole(out, text);
  }
  if (!data.labels.empty()) fmt::print(stderr, "{}\n", quality_of(model, found, data.labels));
  return 0;
}

int run_learn_convert(int argc, char** argv) {
  CLI::App app("Converts a data file to another format", "tutti learn convert");
  std::string from, to, to_format;
  std::int64_t chunk_rows = 0;
  bool is_one_hot = false;
  AnyFileOptions options{.parse_strings = true};
  app.add_option("from", from, "input file")->required();
  app.add_option("to", to, "output file")->required();
  app.add_option("--to-format", to_format,
                 "format of the output file: tutti, svmlight, csv, snap [by the name]");
  app.add_option("--chunk-rows", chunk_rows, "tutti: rows per chunk [chunks of about 8 MiB]");
  app.add_flag("--one-hot", is_one_hot,
               "one-hot encode the categorical columns of a CSV file [codes; CSV: strings]");
  const auto use_old_name = [&is_one_hot] {
    warn_deprecated("option", "--spread-words", "--one-hot");
    is_one_hot = true;
  };
  app.add_flag_callback("--spread-words", use_old_name)->group("");
  add_file_options(app, options);
  int code = 0;
  if (!parse(app, argc, argv, code)) return code;
  const FileKind kind = to_format.empty() ? kind_by_name(to) : parse_file_kind(to_format);
  os::check_writable(to);
  DataSet data = read_any(from, options);
  if (is_one_hot) {
    data.features = one_hot_encode(data.features, data.categories);
    data.categories.columns.clear();
  }
  if (kind != FileKind::kCsv) print_categories(data.categories);
  os::write_whole(to, [&](const std::filesystem::path& draft) {
    if (kind == FileKind::kTutti) {
      write_data_file(draft, data, chunk_rows);
    } else {
      write_any(draft, data, kind);
    }
  });
  fmt::print("{}: {}, written to {} ({})\n", from, shape_text(data.features), to, name_of(kind));
  return 0;
}

void print_model(const SavedModel& model) {
  std::vector<std::string> classes;
  for (const double label : model.classes) classes.push_back(label_text(model, label));
  fmt::print(
      "model {}, {} columns, {}\n", model.name, model.columns,
      classes.empty() ? "predicts numbers" : fmt::format("classes {}", fmt::join(classes, " ")));
  if (model.trees) {
    std::size_t nodes = 0;
    for (const auto& tree : model.trees->trees) nodes += tree.nodes.size();
    fmt::print("{} trees, {} nodes\n", model.trees->trees.size(), nodes);
  }
  for (const LinearPart& part : model.parts) {
    std::int64_t used = 0;
    for (const double weight : part.coefficients) used += weight != 0;
    fmt::print("{} nonzero weights, intercept {:.6g}\n", used, part.intercept);
  }
}

int run_learn_info(int argc, char** argv) {
  CLI::App app("Prints a summary of a data file or a model", "tutti learn info");
  std::string path;
  AnyFileOptions options{.parse_strings = true};
  app.add_option("file", path, "data file, or model written by `tutti learn train`")->required();
  add_file_options(app, options);
  int code = 0;
  if (!parse(app, argc, argv, code)) return code;
  if (std::filesystem::path(path).extension() == ".json" || is_model(path)) {
    print_model(load_model(path));
    return 0;
  }
  const FileKind kind = options.kind.empty() ? kind_of(path) : parse_file_kind(options.kind);
  const DataSet data = read_any(path, options);
  fmt::print("{}: {}, {}\n", path, name_of(kind), shape_text(data.features));
  if (kind == FileKind::kTutti) fmt::print("{}\n", chunks_text(DataFile(path).chunks()));
  print_categories(data.categories);
  std::vector<double> values = data.labels;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.empty()) {
    fmt::print("no labels\n");
  } else if (!data.categories.labels.empty()) {
    // print_categories() has printed them.
  } else if (values.size() <= 20) {
    fmt::print("labels {}\n", fmt::join(values, " "));
  } else {
    fmt::print("labels {} to {}, {} distinct\n", values.front(), values.back(), values.size());
  }
  if (!data.weights.empty()) fmt::print("with weights\n");
  return 0;
}

int run_learn_options(int argc, char** argv) {
  CLI::App app("Prints the reference page of the model options", "tutti learn options");
  int code = 0;
  if (!parse(app, argc, argv, code)) return code;
  fmt::print("{}", learn_options_markdown());
  return 0;
}

}  // namespace

int run_learn(int argc, char** argv) {
  static constexpr Command kCommands[] = {
      {"train", "train a linear model or trees on a data file", run_learn_train},
      {"predict", "predict the labels of a data file", run_learn_predict},
      {"convert", "convert a data file to another format", run_learn_convert},
      {"info", "print a summary of a data file or a model", run_learn_info},
      {"options", "print the reference page of the model options", run_learn_options},
  };
  return dispatch("tutti learn", kCommands, argc, argv);
}

}  // namespace tutti::app
