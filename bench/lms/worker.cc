#include "bench/lms/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"
#include "tutti/os/process.h"
#include "tutti/os/text_file.h"

namespace tutti::bench {
namespace {

constexpr double kTimeout = 3600;   // seconds
constexpr std::size_t kWarmUp = 3;  // steps until a plan is in use

const std::vector<SizedCase>& sized_cases() {
  static const std::vector<SizedCase> cases = {
      {"unet3d", {"volume"}, 3, 80, 96},
      {"cosmoflow", {"volume"}, 3, 64, 96, 108},
      {"resnet", {"image"}, 2, 160, 224},
      {"hep", {"image"}, 2, 128, 192},
      {"climate-segment", {"rows"}, 2, 192, 288, 384},
      {"climate-detect", {"rows", "columns"}, 2, 192, 288},
      {"gpt2", {"sequence"}, 1, 128, 256},
  };
  return cases;
}

bool is_gpt2(const NetworkArguments& network) {
  return !network.empty() && network[0] == "gpt2";
}

// Runs the worker of the network with `action` and its arguments, then those of the network.
std::string run_worker(const std::vector<std::string>& action, NetworkArguments network) {
  const std::filesystem::path workers = os::prefix() / "libexec/tutti";
  std::vector<std::string> arguments = {(workers / "lms_step").string()};
  if (is_gpt2(network)) {
    network.erase(network.begin());
    arguments = {"env", fmt::format("PYTHONPATH={}", (os::prefix() / "python").string()),
                 "/usr/bin/python3", "-B", (workers / "worker_gpt2.py").string()};
  }
  arguments.insert(arguments.end(), action.begin(), action.end());
  arguments.insert(arguments.end(), network.begin(), network.end());
  const os::Outcome outcome = os::run({.arguments = arguments}, kTimeout);
  if (outcome.timed_out || outcome.exit_code != 0) {
    throw IoError(
        "DDL-8-73",
        fmt::format("{} {}:\n{}Correct the network, or use a larger budget.", action[0],
                    outcome.timed_out ? "timed out" : os::describe_end(outcome.exit_code, 0),
                    outcome.errors));
  }
  return outcome.output;
}

}  // namespace

double SizedCase::elements(double size) const {
  return std::pow(size, dimensions);
}
double SizedCase::size_of(double elements) const {
  return std::pow(elements, 1.0 / dimensions);
}

NetworkArguments SizedCase::network(int size, const std::vector<std::string>& options) const {
  NetworkArguments arguments = {"case", name};
  if (name == "gpt2") arguments.erase(arguments.begin());  // not a case of `tutti train`
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (const std::string& option : size_options)
    arguments.push_back(fmt::format("{}={}", option, size));
  return arguments;
}

const SizedCase& find_sized_case(const std::string& name) {
  std::vector<std::string> names;
  for (const SizedCase& each : sized_cases()) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw ConfigError("DDL-1-03", fmt::format("No case '{}' with a size. Valid cases: {}.", name,
                                            fmt::join(names, ", ")));
}

lms::Trace record_step(const NetworkArguments& network) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "trace.json").string();
  run_worker({"trace", file}, network);
  return lms::trace_from_json(os::read_text(file));
}

double StepRun::step_seconds() const {
  const std::size_t skipped = std::min(kWarmUp, seconds.size() - 1);
  return summarise(std::span(seconds).subspan(skipped)).median;
}

namespace {

StepRun run_in_mode(const std::string& mode, int steps, const NetworkArguments& network) {
  const auto line =
      nlohmann::json::parse(run_worker({"run", mode, std::to_string(steps)}, network));
  StepRun run;
  run.seconds = line["seconds"].get<std::vector<double>>();
  run.losses = line["losses"].get<std::vector<double>>();
  run.gradients = line["gradients"].get<std::uint32_t>();
  run.peak = line.value("peak", std::int64_t{0});
  run.written = line.value("written", std::int64_t{0});
  run.read = line.value("read", std::int64_t{0});
  run.unplanned_reads = line.value("unplanned_reads", std::int64_t{0});
  run.evictions = line.value("evictions", std::int64_t{0});
  run.faults = line.value("faults", std::int64_t{0});
  run.waited = line.value("waited", 0.0);
  return run;
}

}  // namespace

StepRun run_steps(std::int64_t budget, int steps, const NetworkArguments& network) {
  return run_in_mode(std::to_string(budget), steps, network);
}

std::vector<std::string> baselines_of(const NetworkArguments& network) {
  if (!is_gpt2(network)) return {};
  return {"checkpoint", "save_on_cpu"};
}

StepRun run_baseline(const std::string& baseline, int steps, const NetworkArguments& network) {
  return run_in_mode(baseline, steps, network);
}

}  // namespace tutti::bench
