#include "apps/tutti/tune_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "apps/tutti/command.h"
#include "tutti/core/error.h"
#include "tutti/models/cases.h"
#include "tutti/os/environment.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/run/options.h"
#include "tutti/tune/run/options.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;
using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kStudiesFolder = "tune";

// Usual ranges of training options that have no narrow range of their own.
const std::map<std::string, std::string>& usual_ranges() {
  static const std::map<std::string, std::string> ranges = {
      {"learning_rate", "log:1e-5..1e-1"},
      {"momentum", "0.5..0.99"},
      {"beta2", "0.9..0.9999"},
      {"weight_decay", "log:1e-6..1e-2"},
      {"batch", "8,16,32,64,128"},
      {"warmup", "0.0..0.3"},
      {"final_lr_ratio", "0.0..0.5"},
      {"ema_decay", "0.0..0.9999"},
      {"clip_norm", "log:0.1..100.0"},
      {"accumulate", "1,2,4,8"},
      {"label_smoothing", "0.0..0.3"},
      {"dropout", "0.0..0.6"},
  };
  return ranges;
}

// The parameters of a case if none are given.
constexpr const char* kUsualParameters[] = {"learning_rate", "optimizer", "weight_decay", "batch"};

std::string usual_range(const OptionSpec& option) {
  const auto usual = usual_ranges().find(option.name);
  if (usual != usual_ranges().end()) return usual->second;
  if (option.type == OptionType::kChoice) return fmt::format("{}", fmt::join(option.choices, ","));
  if (option.type == OptionType::kBool) return "0,1";
  const bool is_number = option.type == OptionType::kInt || option.type == OptionType::kFloat;
  if (!is_number || option.maximum - option.minimum > 100) {
    throw ConfigError("DDL-10-36",
                      fmt::format("The option '{}' has no usual range to search. Write for example "
                                  "--space {}=low..high.",
                                  option.name, option.name));
  }
  const char* type = option.type == OptionType::kInt ? "int" : "float";
  return fmt::format("{}:{}..{}", type, option.minimum, option.maximum);
}

// A value as it is written on the command line.
std::string setting_text(const tune::Distribution& distribution, double value) {
  std::string text = tune::json_value(distribution, value);
  if (text.starts_with('"')) text = text.substr(1, text.size() - 2);
  return text == "true" ? "1" : text == "false" ? "0" : text;
}

// Throws the error that a trial with the lowest, the highest or any listed value would end with.
void check_values(const OptionTable& table, const tune::Parameter& parameter) {
  const tune::Distribution& distribution = parameter.distribution;
  Options options(table);
  const double step =
      distribution.is_categorical() ? 1 : std::max(distribution.high - distribution.low, 1e-300);
  for (double value = distribution.low; value <= distribution.high; value += step) {
    options.set(parameter.name, setting_text(distribution, value), "--space");
  }
}

// The command of a trial of a case: one training run in the directory of the trial.
void set_case(const std::string& name, const Settings& settings, tune::StudySpec& spec) {
  const std::string program = (os::prefix() / "bin/tutti").string();
  spec.command = {program, "train", name};
  for (const auto& [option, value] : settings) {
    Options(models::find_case(name).table()).set(option, value, "--set");
    spec.command.push_back(fmt::format("--set={}={}", option, value));
  }
  for (const tune::Parameter& parameter : spec.space) {
    spec.command.push_back(fmt::format("--set={}={{{}}}", parameter.name, parameter.name));
  }
  spec.command.emplace_back("--set=runs={directory}");
  spec.resume_command = {program, "train", "--resume", "{run}"};
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

void set_objectives(bool is_case, tune::StudySpec& spec) {
  const Options options = options_of(spec);
  if (!options.text("metric").empty() || spec.objectives.empty()) {
    spec.objectives.clear();
    for (const std::string& metric : split_commas(options.text("metric"))) {
      if (!metric.empty() || is_case) spec.objectives.push_back({metric});
    }
  }
  const std::string& text = options.text("direction");
  std::vector<std::string> directions =
      text.empty() ? std::vector<std::string>{} : split_commas(text);
  if (text.empty() && is_case && options.text("metric").empty()) directions = {"maximize"};
  if (!directions.empty() && directions.size() != spec.objectives.size()) {
    throw ConfigError(
        "DDL-10-32",
        fmt::format("There are {} metrics and {} directions. Give one direction per metric.",
                    spec.objectives.size(), directions.size()));
  }
  for (std::size_t i = 0; i < directions.size(); ++i) {
    if (directions[i] != "minimize" && directions[i] != "maximize") {
      throw ConfigError("DDL-10-32",
                        fmt::format("Unknown direction '{}'. Valid directions: minimize, maximize.",
                                    directions[i]));
    }
    spec.objectives[i].direction =
        directions[i] == "maximize" ? tune::Direction::kMaximize : tune::Direction::kMinimize;
  }
}

struct Arguments {
  std::string what, request_file, name, folder, resumes;
  std::vector<std::string> space, settings, command;
  std::map<std::string, std::string> options;  // of tune_options()
  bool is_quiet = false;
};

void add_arguments(CLI::App& app, Arguments& arguments) {
  app.add_option("what", arguments.what, "case of `tutti train`, or a study as TOML file");
  app.add_option("--space", arguments.space,
                 "parameter and its values: rate=log:1e-4..1e-1, layers=2..8, width=64..512:64, "
                 "optimizer=sgd,adam; may "
                 "be repeated. For a case, the name alone selects the usual values");
  app.add_option("--set", arguments.settings,
                 "option=value of the case, the same in all trials; may be repeated");
  app.add_option("--from", arguments.request_file,
                 "search request in JSON (algoDef, hyperParams) instead of --space");
  app.add_option("--name", arguments.name, "name of the study");
  app.add_option("--dir", arguments.folder,
                 "new directory for the study; default: tune/<name>-<date>");
  app.add_option("--resume", arguments.resumes, "directory of a study to continue");
  app.add_flag("--quiet", arguments.is_quiet, "print only the result");
  for (const OptionSpec& option : tune::tune_options()) {
    std::string flag = "--" + option.name;
    std::replace(flag.begin() + 2, flag.end(), '_', '-');
    app.add_option_function<std::string>(
        flag,
        [&arguments, name = option.name](const std::string& value) {
          arguments.options[name] = value;
        },
        fmt::format("{} [{}]", option.help, option.default_value));
  }
  app.footer(
      "A command after -- is run for each trial, for example\n"
      "  tutti tune --space rate=log:1e-4..1e-1 --metric loss -- python3 train.py --rate={rate}\n"
      "Other commands: tutti tune show DIR, tutti tune plot DIR, tutti tune export DIR, tutti tune "
      "options.");
}

// Trials run in directories of their own, so words that name a file in `base`, such as train.py, become absolute paths.
void make_files_absolute(const fs::path& base, std::vector<std::string>& command) {
  for (std::string& word : command) {
    const fs::path file = base / word;
    if (!word.empty() && fs::path(word).is_relative() && fs::is_regular_file(file))
      word = fs::absolute(file).string();
  }
}

void resume(const Arguments& arguments, TuneRequest& request) {
  request.resumes = true;
  request.folder = arguments.resumes;
  tune::StudyFile file(request.folder / "study.db", tune::StudyFile::Access::kRead);
  const tune::StudyRecord record = file.studies().at(0);
  request.spec = tune::study_spec_from_json(record.settings);
  request.spec.name = record.name;
}

void start(const Arguments& arguments, TuneRequest& request) {
  tune::StudySpec& spec = request.spec;
  std::string case_name;
  Settings settings;
  if (!arguments.request_file.empty()) spec = tune::read_search_request(arguments.request_file);
  if (arguments.what.ends_with(".toml")) {
    tune::StudyFileText text = tune::read_study_toml(arguments.what);
    spec = std::move(text.spec);
    case_name = text.case_name;
    settings = std::move(text.settings);
    make_files_absolute(fs::absolute(arguments.what).parent_path(), spec.command);
  } else {
    case_name = arguments.what;
  }
  for (const std::string& setting : arguments.settings)
    settings.push_back(split_setting("--set", setting));
  for (const std::string& text : arguments.space) {
    spec.space.push_back(case_name.empty() ? tune::parse_parameter(text)
                                           : case_parameter(case_name, text));
  }
  if (!case_name.empty()) {
    const OptionTable table = models::find_case(case_name).table();
    if (spec.space.empty()) {
      for (const char* name : kUsualParameters)
        spec.space.push_back(case_parameter(case_name, name));
    }
    for (const tune::Parameter& parameter : spec.space) check_values(table, parameter);
    set_case(case_name, settings, spec);
  }
  if (!arguments.command.empty()) {
    spec.command = arguments.command;
    make_files_absolute(fs::current_path(), spec.command);
  }
  if (spec.name.empty()) spec.name = !case_name.empty() ? case_name : "study";
}

}  // namespace

tune::Parameter case_parameter(const std::string& case_name, const std::string& text) {
  const OptionTable table = models::find_case(case_name).table();
  const std::string name = text.substr(0, text.find('='));
  const OptionSpec* option = find_option(table, name);
  if (!option) Options(table).text(name);  // throws: unknown, with a suggestion
  tune::Parameter parameter =
      tune::parse_parameter(text == name ? name + "=" + usual_range(*option) : text);
  parameter.name = option->name;
  check_values(table, parameter);
  return parameter;
}

bool parse_tune(int argc, char** argv, TuneRequest& request) {
  Arguments arguments;
  CLI::App app(
      "Searches for the best hyper-parameters of a case of `tutti train` or of any program",
      "tutti tune");
  add_arguments(app, arguments);
  const auto separator = std::find(argv, argv + argc, std::string_view("--"));
  if (separator != argv + argc) arguments.command.assign(separator + 1, argv + argc);
  try {
    app.parse(static_cast<int>(separator - argv), argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return false;
    throw ConfigError("DDL-1-87", "Invalid command line of `tutti tune`. See `tutti tune --help`.");
  }
  if (arguments.resumes.empty()) {
    start(arguments, request);
  } else {
    resume(arguments, request);
  }
  for (const auto& [name, value] : arguments.options)
    request.spec.options.emplace_back(name, value);
  if (!arguments.name.empty() && !request.resumes) request.spec.name = arguments.name;
  if (!request.resumes) {
    const bool is_case = !request.spec.resume_command.empty();
    set_objectives(is_case, request.spec);
  }
  check(request.spec);
  request.is_quiet = arguments.is_quiet;
  if (!request.resumes) {
    request.folder = arguments.folder.empty()
                         ? runs::new_run_folder(kStudiesFolder, request.spec.name)
                         : fs::path(arguments.folder);
  }
  request.folder = fs::absolute(request.folder);
  return true;
}

}  // namespace tutti::app
