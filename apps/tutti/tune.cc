// `tutti tune`: hyper-parameter search.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "apps/tutti/command.h"
#include "apps/tutti/tune_report.h"
#include "apps/tutti/tune_request.h"
#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/os/output_file.h"
#include "tutti/os/signal_fd.h"
#include "tutti/tune/run/options.h"
#include "tutti/tune/run/tuner.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;
using tune::Trial;
using tune::TrialState;

constexpr const char* kStudyFile = "study.db";
constexpr int kInterrupted = 128 + SIGINT;

std::string minutes_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// Prints a line for each trial that ends, and on a terminal a status line below them.
class ProgressReport {
 public:
  ProgressReport(tune::Study& study, std::int64_t trials, bool is_quiet)
      : study_(study),
        trials_(trials),
        is_quiet_(is_quiet),
        is_terminal_(isatty(STDOUT_FILENO) == 1),
        finished_before_(finished(study.history())) {}

  void ended(const Trial& trial, const std::string& reason) {
    if (is_quiet_) return;
    const bool is_retried = trial.state == TrialState::kWaiting;
    fmt::print("{}trial {:>4}  {:<8}  {:>12}  {}{}\n", is_terminal_ ? "\r\033[K" : "", trial.number,
               is_retried ? "retried" : tune::name_of(trial.state), values_text(trial),
               parameters_text(trial), reason.empty() ? "" : fmt::format("  ({})", reason));
    std::fflush(stdout);
  }

  void tick() {
    if (is_quiet_ || !is_terminal_ || since_tick_.seconds() < 0.5) return;
    since_tick_.restart();
    const tune::History history = study_.history();
    const Trial* best = history.objectives() == 1 ? history.best() : nullptr;
    std::string text = fmt::format("{} of {}", counts_text(history),
                                   trials_ > 0 ? std::to_string(trials_) : "any number");
    if (best) text += fmt::format(", best {} (trial {})", values_text(*best), best->number);
    const std::size_t done = finished(history) - finished_before_;
    if (trials_ > 0 && done > 0) {
      const auto left = static_cast<double>(trials_) - static_cast<double>(finished(history));
      text += fmt::format(", about {} left",
                          minutes_text(watch_.seconds() / static_cast<double>(done) * left));
    }
    fmt::print("\r\033[K{}", text.substr(0, 110));
    std::fflush(stdout);
  }

  void close() {
    if (!is_quiet_ && is_terminal_) fmt::print("\r\033[K");
  }

 private:
  static std::size_t finished(const tune::History& history) {
    return history.trials().size() - history.count(TrialState::kRunning) -
           history.count(TrialState::kWaiting);
  }

  tune::Study& study_;
  std::int64_t trials_;
  bool is_quiet_, is_terminal_;
  std::size_t finished_before_;
  Stopwatch watch_, since_tick_;
};

tune::StoredStudy open_study(const TuneRequest& request) {
  if (!request.resumes && fs::exists(request.folder / kStudyFile)) {
    throw ConfigError(
        "DDL-10-23",
        fmt::format("{} has a study already. Continue it with --resume, or choose another --dir.",
                    request.folder.string()));
  }
  fs::create_directories(request.folder);
  auto file = std::make_shared<tune::StudyFile>(request.folder / kStudyFile,
                                                tune::StudyFile::Access::kWrite);
  const tune::StudyRecord record =
      request.resumes
          ? file->find(request.spec.name)
          : file->create(request.spec.name, request.spec.directions(), to_json(request.spec));
  return {file, record};
}

int search(const TuneRequest& request) {
  const os::SignalFd signals({SIGINT, SIGTERM});
  const tune::StoredStudy stored = open_study(request);
  tune::Study study(request.spec.directions(), sampler_of(request.spec), pruner_of(request.spec),
                    stored);
  ProgressReport progress(study, options_of(request.spec).integer("trials"), request.is_quiet);
  tune::TunerEvents events;
  events.ended = [&](const Trial& trial, const std::string& reason) {
    progress.ended(trial, reason);
  };
  events.tick = [&] { progress.tick(); };
  tune::Tuner tuner(request.spec, study, request.folder, events);
  if (const int recovered = tuner.recover(); recovered > 0 && !request.is_quiet) {
    fmt::print("{} interrupted trial{} will start again.\n", recovered, recovered == 1 ? "" : "s");
  }
  const bool is_complete = tuner.run(signals.get());
  while (signals.take() != 0) {  // a signal that stays pending would end this process now
  }
  progress.close();
  const tune::History history = study.history();
  if (const std::string reason = study.reason(); !reason.empty() && !request.is_quiet)
    fmt::print("Algorithm {}.\n", reason);
  fmt::print("{}. {}", counts_text(history), best_text(history));
  for (const fs::path& file : plot_study(request.folder, request.spec.name, history))
    fmt::print("{}\n", file.string());
  if (is_complete) return 0;
  fmt::print("Stopped. Continue with:\n  tutti tune --resume {}\n", request.folder.string());
  return kInterrupted;
}

struct StudyArguments {
  std::string study, output;
  bool as_json = false;
};

// Parses the command line of a command about an existing study. Returns false if only help was requested.
bool parse_study(CLI::App& app, StudyArguments& arguments, int argc, char** argv) {
  app.add_option("study", arguments.study, "directory of a study, or its file")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return false;
    throw ConfigError("DDL-1-87", "Invalid command line of `tutti tune`. See `tutti tune --help`.");
  }
  return true;
}

struct LoadedStudy {
  std::string name;
  fs::path folder;
  tune::History history;
};

LoadedStudy load_study(const std::string& path) {
  const fs::path file = fs::is_directory(path) ? fs::path(path) / kStudyFile : fs::path(path);
  tune::StudyFile study(file, tune::StudyFile::Access::kRead);
  const std::vector<tune::StudyRecord> records = study.studies();
  if (records.empty())
    throw ConfigError("DDL-10-24", fmt::format("{} has no studies yet.", file.string()));
  return {records[0].name, file.parent_path(), study.load(records[0])};
}

int show(int argc, char** argv) {
  CLI::App app("Shows the trials of a study, also while it runs", "tutti tune show");
  StudyArguments arguments;
  if (!parse_study(app, arguments, argc, argv)) return 0;
  const LoadedStudy study = load_study(arguments.study);
  fmt::print("{}{}. {}", table_text(study.history), counts_text(study.history),
             best_text(study.history));
  return 0;
}

int plot(int argc, char** argv) {
  CLI::App app("Draws the plots of a study", "tutti tune plot");
  StudyArguments arguments;
  if (!parse_study(app, arguments, argc, argv)) return 0;
  const LoadedStudy study = load_study(arguments.study);
  for (const fs::path& file : plot_study(study.folder, study.name, study.history))
    fmt::print("{}\n", file.string());
  return 0;
}

int export_study(int argc, char** argv) {
  CLI::App app("Writes a study as JSON", "tutti tune export");
  StudyArguments arguments;
  app.add_option("-o,--output", arguments.output, "file; default: standard output");
  if (!parse_study(app, arguments, argc, argv)) return 0;
  const LoadedStudy study = load_study(arguments.study);
  const std::string json = study_json(study.name, study.history);
  if (arguments.output.empty()) {
    fmt::print("{}", json);
  } else {
    os::write_whole(arguments.output, json);
  }
  return 0;
}

}  // namespace

int run_tune(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "show") return show(argc - 1, argv + 1);
  if (command == "plot") return plot(argc - 1, argv + 1);
  if (command == "export") return export_study(argc - 1, argv + 1);
  if (command == "options") {
    fmt::print("{}", reference_markdown("Options of hyper-parameter search", tune::tune_options()));
    return 0;
  }
  TuneRequest request;
  if (!parse_tune(argc, argv, request)) return 0;
  return search(request);
}

}  // namespace tutti::app
