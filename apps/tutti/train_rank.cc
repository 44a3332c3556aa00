// The program of one rank: what `tutti train`, `tutti evaluate`, `tutti predict` and the benchmark
// start.
//   train_rank start|resume|evaluate RUN        a run whose directory exists
//   train_rank predict RUN FILE OUT.csv|OUT.h5  predictions for the samples of a file
//   train_rank export RUN OUT.pt                the network as TorchScript
//   train_rank train ARGUMENTS                  as typed by the user, under a launcher
//   train_rank speed CASE STEPS [option=value]  one JSON line with the time of each step
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "apps/tutti/train_request.h"
#include "tutti/comm/communicator.h"
#include "tutti/core/error.h"
#include "tutti/core/failure.h"
#include "tutti/kernels/amx/amx.h"
#include "tutti/lms/hooks/guard.h"
#include "tutti/models/cases.h"
#include "tutti/models/tasks.h"
#include "tutti/os/output_file.h"
#include "tutti/runs/schema.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/collective_guard.h"
#include "tutti/train/memory.h"
#include "tutti/train/process_setup.h"
#include "tutti/train/run/plots.h"
#include "tutti/train/staging.h"
#include "tutti/train/trainer.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;
using comm::Communicator;

constexpr int kStoppedCode = 130;  // as shells report SIGINT

struct Prepared {
  // `folder`: run directory; empty: none.
  Prepared(const train::Request& request, const fs::path& folder)
      : info(models::find_case(request.case_name)),
        table(info.table()),
        options(train::resolve(info, table, request.settings)) {
    if (!folder.empty()) use_kept_network(folder, options);
  }
  explicit Prepared(const fs::path& folder) : Prepared(read_saved_options(folder), folder) {}
  const train::CaseInfo& info;
  const OptionTable table;
  Options options;
};

// Reads the command line. Rank 0 creates the run directory; all ranks return its name. Empty: only help was requested.
fs::path agreed_folder(Communicator& communicator, int argc, char** argv, TrainRequest& request,
                       std::optional<RunStart>& start) {
  char name[4096] = {};
  train::collective_guard(communicator, [&] {
    if (parse_train(argc, argv, request) && communicator.rank() == 0)
      fs::absolute(start.emplace(request).folder()).string().copy(name, sizeof name - 1);
  });
  communicator.broadcast({name, sizeof name, DType::kU8}, 0, {.name = "run directory"});
  return name;
}

std::string counted(int count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

void print_setup(const Prepared& prepared, const Communicator& communicator, int threads) {
  if (communicator.rank() != 0) return;
  const bool is_small = train::compute_type(prepared.options) == torch::kBFloat16;
  const std::string units = kernels::has_matrix_units() ? " on AMX" : "";
  fmt::print("{} ({}): {} on {}, {} each, {}{}, strategy {}\n", prepared.info.name,
             prepared.options.text("size"), counted(communicator.size(), "rank"),
             counted(communicator.size() / std::max(1, communicator.local_size()), "host"),
             counted(threads, "thread"), is_small ? "bf16 with f32 weights" : "f32",
             is_small ? units : "", prepared.options.text("strategy"));
  fflush(stdout);
}

void write_result(const fs::path& folder, const train::TrainOutcome& outcome,
                  const std::string& verdict, int ranks) {
  const char* selection_split = outcome.is_best ? "validation" : "none";
  nlohmann::ordered_json result = {{"steps", outcome.steps},
                                   {"seconds", outcome.seconds},
                                   {"ranks", ranks},
                                   {"samples_per_second", outcome.samples_per_second},
                                   {"exposed_share", outcome.exposed_share}};
  // If the run was resumed after its last step, keep the speed of the earlier start.
  std::ifstream file(folder / runs::kResultFile);
  const auto before = nlohmann::ordered_json::parse(file, nullptr, false);
  if (outcome.samples_per_second == 0 && before.is_object()) result = before;
  result["evaluated_step"] = outcome.evaluated_step;
  result["judged_step"] = outcome.evaluated_step;  // deprecated name
  result["chosen_by"] = selection_split;
  result["metrics"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : outcome.metrics) result["metrics"][name] = value;
  runs::write_text(folder / runs::kResultFile, result.dump(2) + "\n");
  runs::write_text(folder / runs::kVerdictFile, verdict);
}

void stage_data(Options& options, Communicator& communicator) {
  if (options.text("staging_dir").empty() || options.text("data").empty()) return;
  const fs::path local =
      train::stage_files(communicator, options.text("data"), options.text("staging_dir"));
  options.set("data", local.string(), "staging_dir");
}

// Large model support for this rank, if the options ask for it. Before the network is created, to manage its weights.
std::unique_ptr<lms::Guard> large_model_support(const Options& options, int local_ranks) {
  if (options.text("lms").empty()) return nullptr;
  Options settings(lms::lms_options());
  settings.set("budget", options.text("lms"), "lms");
  settings.set("mode", options.text("lms_mode"), "lms_mode");
  settings.set("tiling", options.text("lms_tiling"), "lms_tiling");
  return std::make_unique<lms::Guard>(lms::guard_options(settings, local_ranks));
}

// The report as text on standard output, as `lms.json`, and the memory of a step as a plot.
void report_large_model_support(const lms::Guard& guard, const fs::path& folder) {
  fmt::print("{}", guard.report());
  runs::write_text(folder / runs::kLmsFile, guard.report_json() + "\n");
  if (guard.trace().operators.empty()) return;
  runs::write_text(folder / runs::kPlotsFolder / "memory.svg", guard.report_svg());
  train::write_pngs(folder / runs::kPlotsFolder);
}

int train_run(Communicator& communicator, const fs::path& folder, bool resumes,
              const train::Request& request) {
  Prepared prepared(request, folder);
  std::unique_ptr<lms::Guard> guard;
  std::unique_ptr<train::Task> task;
  train::collective_guard(communicator, [&] { check_data_folder(prepared.options); });
  train::collective_guard(communicator, [&] {
    stage_data(prepared.options, communicator);
    const int threads = train::threads_of(prepared.options, communicator.local_size());
    train::prepare_process(threads);
    guard = large_model_support(prepared.options, communicator.local_size());
    task = models::make_task(prepared.info.name, prepared.options);
    print_setup(prepared, communicator, threads);
    train::check_memory(*task, communicator, prepared.options);
    task->prepare(communicator);
  });
  std::optional<train::StopSignal> stop;
  if (train::can_stop(prepared.options)) stop.emplace(communicator.rank() == 0);
  const train::TrainOutcome outcome = train::train(
      *task, communicator,
      {prepared.info.name, prepared.options, folder, resumes, stop ? &*stop : nullptr});
  if (outcome.was_stopped) {
    if (communicator.rank() == 0)
      fmt::print(
          "\nStopped after step {} with a checkpoint. Resume with:\n  tutti train --resume {}\n",
          outcome.steps, folder.string());
    return kStoppedCode;
  }
  if (communicator.rank() != 0) return 0;
  std::string verdict = task->verdict(outcome.metrics);
  if (task->has_validation())
    verdict = fmt::format(
        "On the test set, with the weights of step {}, {}:\n{}", outcome.evaluated_step,
        outcome.is_best ? "the best on the validation set"
                        : "the last ones, because no result on the validation set was finite",
        verdict);
  write_result(folder, outcome, verdict, communicator.size());
  fmt::print("\n{}", verdict);
  if (outcome.samples_per_second > 0)
    fmt::print(
        "{:.4g} samples/s on {}, {:.1f} s of training, {:.1f} % of it waiting for other ranks\n",
        outcome.samples_per_second, counted(communicator.size(), "rank"), outcome.seconds,
        100 * outcome.exposed_share);
  if (guard) report_large_model_support(*guard, folder);
  fmt::print("plots: {}\n", (folder / "plots").string());
  return 0;
}

// The directory for the plots of an evaluation; empty if the user may not write to it.
fs::path plots_of(const fs::path& folder) {
  const fs::path plots = folder / "plots", target = fs::exists(plots) ? plots : folder;
  return faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) == 0 ? plots : fs::path();
}

int evaluate(Communicator& communicator, const fs::path& folder) {
  const Prepared prepared(folder);
  train::prepare_process(train::threads_of(prepared.options, communicator.local_size()));
  std::unique_ptr<train::Task> task;
  train::SavedResult result;
  train::collective_guard(communicator, [&] { check_data_folder(prepared.options); });
  train::collective_guard(communicator, [&] {
    task = models::make_task(prepared.info.name, prepared.options);
    task->prepare(communicator);
    result =
        train::evaluate_run(*task, communicator,
                            {prepared.info.name, prepared.options, folder, true}, plots_of(folder));
  });
  if (communicator.rank() != 0) return 0;
  const train::Metrics& metrics = result.metrics;
  std::size_t width = 0;
  for (const auto& [name, value] : metrics) width = std::max(width, name.size());
  for (const auto& [name, value] : metrics) fmt::print("{:<{}}  {:.6g}\n", name, width, value);
  fmt::print("\n{}", task->verdict(metrics));
  if (!result.is_best)
    fmt::print(
        "No evaluation of this run has selected weights: these are of its last checkpoint, step "
        "{}.\n",
        result.step);
  else if (result.selection_split == train::EvalSplit::kTest)
    fmt::print(
        "These weights were selected on the same samples. For an unbiased result, train with a "
        "validation set: val*.h5 next to test*.h5 or, if the case generates its data, its option "
        "val_... above 0.\n");
  return 0;
}

std::string csv_text(const train::Task& task, const std::vector<std::vector<float>>& rows) {
  std::string text = fmt::format("{}\n", fmt::join(task.prediction_names(), ","));
  for (const std::vector<float>& row : rows) text += fmt::format("{}\n", fmt::join(row, ","));
  return text;
}

// Predictions of the best weights as CSV, or the network as TorchScript. Both in f32, whatever the precision of
// training, so that they agree.
int use_weights(Communicator& communicator, const std::vector<std::string>& arguments) {
  const bool exports = arguments[0] == "export";
  const fs::path folder = arguments.at(1), output = arguments.at(exports ? 2 : 3);
  Prepared prepared(folder);
  prepared.options.set("precision", "f32", arguments[0]);
  runs::make_parent(output);
  os::check_writable(output);
  train::prepare_process(train::threads_of(prepared.options, communicator.local_size()));
  const auto task = models::make_task(prepared.info.name, prepared.options);
  train::load_weights(task->model(), folder, communicator, prepared.options.flag("channels_last"));
  task->model().eval();
  const torch::NoGradGuard no_gradients;
  if (exports) {
    // In memory first: libtorch aborts the program if it cannot write to a file.
    std::ostringstream script;
    task->export_script(script);
    os::write_whole(output, script.str());
    return 0;
  }
  const fs::path samples = fs::absolute(arguments.at(2));
  if (output.extension() == ".h5") {
    if (task->predict_samples(samples, output)) return 0;
    throw ConfigError(
        "DDL-1-90",
        fmt::format("The case {} predicts rows of numbers: name a CSV file.", prepared.info.name));
  }
  const auto rows = task->predict(samples);
  os::write_whole(output, csv_text(*task, rows));
  return 0;
}

int speed(Communicator& communicator, const std::vector<std::string>& arguments) {
  train::Request request{arguments.at(1), {}};
  for (std::size_t i = 3; i < arguments.size(); ++i)
    request.settings.emplace_back(arguments[i].substr(0, arguments[i].find('=')),
                                  arguments[i].substr(arguments[i].find('=') + 1));
  const Prepared prepared(request, {});
  train::prepare_process(train::threads_of(prepared.options, communicator.local_size()));
  const auto task = models::make_task(prepared.info.name, prepared.options);
  const train::SpeedReport report =
      train::measure_speed(*task, communicator, prepared.options, std::stoi(arguments.at(2)));
  if (communicator.rank() == 0) {
    std::int64_t parameters = 0;
    for (const torch::Tensor& each : task->model().parameters()) parameters += each.numel();
    const nlohmann::json line = {
        {"step_seconds", report.step_seconds},         {"parameters", parameters},
        {"alone_seconds", report.alone_seconds},       {"apart_seconds", report.apart_seconds},
        {"slowest_seconds", report.slowest_seconds},   {"exposed_share", report.exposed_share},
        {"flops_per_sample", task->flops_per_sample()}};
    fmt::print("{}\n", line.dump());
  }
  return 0;
}

// A step, or the plots of rank 0 after an evaluation, may take minutes, so a rank is reported as late only after that.
// Settings of the user are kept.
Options communicator_options() {
  Options options = comm::environment_options();
  for (const auto& [name, value] : {std::pair("stall_seconds", "60"), {"timeout", "7200"}})
    if (options.is_default(name)) options.set(name, value, "tutti train");
  return options;
}

int run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2)
    throw ConfigError("DDL-1-88",
                      "train_rank is started by `tutti train`; see tutti train --help.");
  kernels::prepare_amx();
  const auto communicator = Communicator::from_environment(communicator_options());
  const std::string& verb = arguments[0];
  if (verb == "speed") return speed(*communicator, arguments);
  if (verb == "predict" || verb == "export") return use_weights(*communicator, arguments);
  if (verb == "evaluate") return evaluate(*communicator, arguments[1]);
  if (verb == "start" || verb == "resume")
    return train_run(*communicator, arguments[1], verb == "resume",
                     read_saved_options(arguments[1]));
  TrainRequest request;
  std::optional<RunStart> start;  // on rank 0
  const fs::path folder = agreed_folder(*communicator, argc - 1, argv + 1, request, start);
  if (folder.empty()) return 0;
  try {
    return train_run(*communicator, folder, !request.resumes.empty(), request.what);
  } catch (...) {
    if (start) start->undo();
    throw;
  }
}

}  // namespace
}  // namespace tutti::app

int main(int argc, char** argv) try {
  return tutti::app::run(argc, argv);
} catch (const tutti::train::ReportedByAnotherRank& error) {
  // Launchers report the rank that exits first: it should be the one with the message.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return error.exit_code();
} catch (const std::exception& error) {
  fmt::print(stderr, "tutti: {}\n", tutti::train::error_message(error));
  return tutti::exit_code(error);
}
