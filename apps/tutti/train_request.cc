#include "apps/tutti/train_request.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <fstream>

#include "apps/tutti/command.h"
#include "tutti/core/bytes.h"
#include "tutti/core/error.h"
#include "tutti/models/cases.h"
#include "tutti/os/cpus.h"
#include "tutti/os/environment.h"
#include "tutti/os/launcher_environment.h"
#include "tutti/os/text_file.h"
#include "tutti/runs/schema.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/run/local_ranks.h"
#include "tutti/train/run/options.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;

std::string help_of_cases() {
  std::string text = "Cases:\n";
  for (const train::CaseInfo* info : models::cases())
    text += fmt::format("  {:<15} {}\n", info->name, info->summary);
  text += "\nOptions for --set and TOML files:\n" + help_text(train::train_options());
  for (const train::CaseInfo* info : models::cases())
    text += fmt::format("\nOptions of {}:\n{}", info->name, help_text(info->options));
  return text;
}

std::string settings_text(const train::Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings)
    text += fmt::format("{}`{}={}`", text.empty() ? "" : ", ", name, value);
  return text;
}

// The reference page: common options, then those of each case and the defaults it changes.
std::string options_page() {
  std::string page = reference_markdown("Options of training", train::train_options()) +
                     "\n`tutti train CASE --set NAME=VALUE`, or a key of a TOML file. Every case "
                     "understands these "
                     "options, adds its own and may change defaults.\n";
  for (const train::CaseInfo* info : models::cases()) {
    page += fmt::format("\n#{}\n", reference_markdown(info->name, info->options));
    for (const auto& [size, settings] : info->defaults)
      page += fmt::format("- Defaults of {}: {}\n", size.empty() ? "all sizes" : "size " + size,
                          settings_text(settings));
    for (const train::CaseInfo::Recipe& recipe : info->recipes)
      page += fmt::format("- Defaults with `{}={}`{}: {}\n", recipe.option, recipe.value,
                          recipe.size.empty() ? "" : " of size " + recipe.size,
                          settings_text(recipe.defaults));
  }
  return page;
}

// The options of a file, of the run to resume, or only the name of the case.
train::Request requested_options(const std::string& what, const fs::path& resumes) {
  if (!resumes.empty()) {
    check_run(resumes);
    train::Request before = read_saved_options(resumes);
    if (!what.empty() && what != before.case_name)
      throw ConfigError("DDL-1-75", fmt::format("{} is a run of {} and resumes with its saved "
                                                "options: omit '{}'; --set changes single options.",
                                                resumes.string(), before.case_name, what));
    return before;
  }
  if (what.ends_with(".toml")) return train::read_toml(what);
  return {what, {}};
}

// Makes OpenMP threads sleep instead of spinning while they wait. GCC's libgomp spins for up to 300,000 rounds,
// milliseconds, at the end of every parallel loop. If other programs share the CPUs, a spinning thread uses up the time
// slice of the thread it waits for.
void set_wait_policy() {
  for (const char* chosen : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (getenv(chosen)) return;
  setenv("OMP_WAIT_POLICY", "passive", 0);
}

// Environment variables that libraries read when a rank starts; those set by the user win.
void prepare_environment() {
  setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);  // huge pages for malloc
  os::set_openblas_kernels();
  set_wait_policy();
}

bool has_option(const Options& options, std::string_view name) {
  return std::any_of(options.table().begin(), options.table().end(),
                     [&](const OptionSpec& spec) { return spec.name == name; });
}

// Throws if a new run could not read the model of the user.
void check_model(const Options& options) {
  if (!has_option(options, "model")) return;
  const std::string& file = options.text("model");
  if (file.empty())
    throw ConfigError("DDL-1-89", "No model. Specify a TorchScript file: --model file.pt");
  errno = 0;
  if (!std::ifstream(file) || fs::is_directory(file))
    throw IoError("DDL-7-90", fmt::format("Cannot read the model {}: {}.", file,
                                          strerror(errno != 0 ? errno : EISDIR)));
}

// Throws if a resumed run is started with another model.
void check_same_model(const fs::path& folder, const Options& options) {
  if (!has_option(options, "model") || !fs::exists(folder / runs::kNetworkFile)) return;
  for (const auto& [name, value] : train::read_toml(folder / runs::kConfigFile).settings)
    if (name == "model" && value != options.text("model"))
      throw ConfigError("DDL-1-77",
                        fmt::format("{} resumes with the model it was started with, {}. Omit the "
                                    "other one, or start a new run with it: {}.",
                                    folder.string(), value, options.text("model")));
}

std::string worker_program() {
  return (os::prefix() / "libexec/tutti/train_rank").string();
}

}  // namespace

void check_run(const fs::path& folder) {
  if (!fs::exists(folder / runs::kConfigFile))
    throw ConfigError(
        "DDL-1-70",
        fmt::format(
            "{} is not a run directory: it has no config.toml. `tutti runs` lists the runs.",
            folder.string()));
}

train::Request read_saved_options(const fs::path& folder) {
  train::Request request = train::read_toml(folder / runs::kConfigFile);
  train::use_current_names(models::find_case(request.case_name).table(), request.settings);
  return request;
}

bool parse_train(int argc, char** argv, TrainRequest& request) {
  CLI::App app("Trains the network of a case or of a configuration file on many ranks",
               "tutti train");
  std::string what, size, model, lms;
  std::vector<std::string> settings;
  app.add_option("case", what, "name of a case, or a TOML file");
  app.add_option("--set", settings, "option=value; may be repeated");
  app.add_option("--model", model, "TorchScript file of a custom model: case script");
  app.add_option("--size", size, "tiny, small or paper: the same as --set size=");
  app.add_option("--ranks", request.ranks,
                 "processes on this host, without a launcher [one per CPU]")
      ->check(CLI::Range(1, 4096));
  app.add_option(
      "--lms", lms,
      "memory budget for the tensors of a host, such as 8GiB, or auto: the same as --set lms=");
  bool has_tiling = false;
  app.add_flag(
      "--lms-tiling", has_tiling,
      "with --lms, run operators on large tensors in tiles: the same as --set lms_tiling=1");
  app.add_option("--resume", request.resumes, "run directory to resume");
  app.add_flag_callback(
      "--options",
      [] {
        fmt::print("{}", options_page());
        throw CLI::Success();
      },
      "print the reference page of the options instead");
  app.footer(help_of_cases);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return false;
    }
    throw ConfigError("DDL-1-87", fmt::format("{}. See tutti train --help.", error.what()));
  }
  request.what = requested_options(what, request.resumes);
  if (!model.empty()) {
    if (request.what.case_name.empty()) request.what.case_name = "script";
    if (request.what.case_name != "script")
      throw ConfigError("DDL-1-71", fmt::format("--model is for custom models; the case {} has its "
                                                "own network. Omit one of the two.",
                                                request.what.case_name));
    request.what.settings.emplace_back("model", fs::absolute(model).string());
  }
  if (!size.empty()) request.what.settings.emplace_back("size", size);
  if (!lms.empty()) request.what.settings.emplace_back("lms", lms);
  if (has_tiling) request.what.settings.emplace_back("lms_tiling", "1");
  for (const std::string& setting : settings)
    request.what.settings.push_back(split_setting("--set", setting));
  const train::CaseInfo& info = models::find_case(request.what.case_name);
  const OptionTable table = info.table();
  const Options options = train::resolve(info, table, request.what.settings);
  train::check_strategy(options);
  if (const std::string& budget = options.text("lms"); !budget.empty() && budget != "auto")
    parse_bytes(budget);
  if (request.resumes.empty()) check_model(options);
  return true;
}

RunStart::RunStart(const TrainRequest& request) {
  const train::CaseInfo& info = models::find_case(request.what.case_name);
  const OptionTable table = info.table();
  Options options = train::resolve(info, table, request.what.settings);
  train::make_paths_absolute(options);
  if (!request.resumes.empty()) {
    folder_ = request.resumes;
    lock_.emplace(runs::lock_run(folder_));
    check_same_model(folder_, options);
    options_before_ = os::read_text(folder_ / runs::kConfigFile);
    begin(info, options);
    return;
  }
  folder_ = runs::new_run_folder(options.text("runs"), info.name);
  try {
    lock_.emplace(runs::lock_run(folder_));
    begin(info, options);
  } catch (...) {
    runs::forget_if_empty(folder_);
    throw;
  }
}

void RunStart::begin(const train::CaseInfo& info, const Options& options) {
  const fs::path network = folder_ / runs::kNetworkFile;
  if (has_option(options, "model") && !fs::exists(network)) {
    check_model(options);
    runs::write_text(network, os::read_text(options.text("model")));
  }
  runs::write_text(folder_ / runs::kConfigFile, train::toml_text(info.name, options));
}

void use_kept_network(const fs::path& folder, Options& options) {
  const fs::path network = folder / runs::kNetworkFile;
  if (has_option(options, "model") && fs::exists(network))
    options.set("model", network.string(), "run");
}

void check_data_folder(const Options& options) {
  const std::string& folder = options.text("data");
  if (folder.empty()) return;
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error)
    throw IoError("DDL-7-99",
                  fmt::format("Cannot read the data directory {}: {}. Set `data` to a directory, "
                              "or leave it empty if the case generates its data.",
                              folder, error.message()));
}

bool RunStart::has_taken_steps() const {
  std::error_code none;  // no file: no step
  const auto last_step = fs::last_write_time(folder_ / runs::kStepsFile, none);
  return !none && last_step >= fs::last_write_time(folder_ / runs::kConfigFile);
}

void RunStart::undo() const {
  if (options_before_.empty())
    runs::forget_if_empty(folder_);
  else if (!has_taken_steps())
    runs::write_text(folder_ / runs::kConfigFile, options_before_);
}

int run_ranks(int ranks, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), worker_program());
  prepare_environment();
  if (os::find_job().kind != os::JobKind::kAlone) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    throw IoError("DDL-3-61", fmt::format("Cannot start {}: {}.", arguments[0], strerror(errno)));
  }
  train::LocalRanks job{std::move(arguments), ranks > 0 ? ranks : os::allowed_cpu_count(), {}};
  const std::string threads = std::to_string(std::max(1, os::allowed_cpu_count() / job.ranks));
  // No more threads than CPUs.
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
    if (!getenv(name)) job.environment.push_back(name + ("=" + threads));
  return train::run_local_ranks(job);
}

}  // namespace tutti::app
