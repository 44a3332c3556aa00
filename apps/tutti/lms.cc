// `tutti lms`: large model support.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "apps/tutti/command.h"
#include "bench/lms/worker.h"
#include "tutti/core/bytes.h"
#include "tutti/core/error.h"
#include "tutti/lms/extrapolate.h"
#include "tutti/lms/options.h"
#include "tutti/lms/pager/measure_tier.h"
#include "tutti/lms/planner.h"
#include "tutti/lms/report.h"
#include "tutti/os/output_file.h"
#include "tutti/os/text_file.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;

struct SimulateRequest {
  std::vector<std::string> traces, settings, case_options;
  std::string case_name, script;
  std::vector<int> shape, recorded;
  std::vector<double> sizes;
  double size = 0;
  std::string budget, write_bandwidth, read_bandwidth;
  double latency = 100;  // microseconds
  std::string json, plot, plan;
};

constexpr std::int64_t kDiskBytes = 256 << 20;  // moved to measure the bandwidth

void add_options(CLI::App& app, SimulateRequest& request) {
  auto* const traces =
      app.add_option("--trace", request.traces, "recorded step, a JSON file; two for --size");
  traces->expected(1, 2);
  auto* const name =
      app.add_option("--case", request.case_name, "case of `tutti train` to run steps of");
  auto* const script =
      app.add_option("--script", request.script, "TorchScript module to run steps of");
  traces->excludes(name)->excludes(script);
  name->excludes(script);
  app.add_option("--option", request.case_options, "option=value of the case; may be repeated");
  app.add_option("--shape", request.shape, "input shape of the script, such as 1,4,96,96,96")
      ->delimiter(',');
  app.add_option("--recorded", request.recorded,
                 "two sizes at which steps of the case are recorded; default: depends on the case")
      ->delimiter(',')
      ->expected(2);
  app.add_option("--sizes", request.sizes,
                 "input sizes of the two traces, in elements (pixels, voxels, tokens or samples)")
      ->delimiter(',')
      ->expected(2);
  app.add_option(
      "--size", request.size,
      "input size to predict: with --case pixels or voxels along a side, with --trace elements");
  app.add_option("--budget", request.budget, "resident tensor memory, such as 4GiB")->required();
  app.add_option(
      "--write-bandwidth", request.write_bandwidth,
      "write bandwidth of the disk in bytes per second, such as 1.5GB; default: measured");
  app.add_option("--read-bandwidth", request.read_bandwidth,
                 "read bandwidth of the disk; default: measured");
  app.add_option("--latency", request.latency, "latency of a transfer in microseconds [100]");
  app.add_option("--set", request.settings,
                 "option=value of large model support, see `tutti lms options`; may be repeated");
  app.add_option("--json", request.json, "JSON file for the report");
  app.add_option("--plot", request.plot, "SVG file for memory over time");
  app.add_option("--plan", request.plan, "JSON file for the plan");
}

Options options_of(const SimulateRequest& request) {
  Options options(lms::lms_options());
  options.set("budget", request.budget, "--budget");
  for (const std::string& setting : request.settings) {
    const auto [name, value] = split_setting("--set", setting);
    options.set(name, value, "--set");
  }
  return options;
}

lms::Trace read_trace(const std::string& file) {
  const std::string text = os::read_text(file);
  if (text.empty()) {
    throw IoError("DDL-7-91",
                  fmt::format("Cannot read {}, or it is empty. Name the trace of a step.", file));
  }
  return lms::trace_from_json(text);
}

void print_largest(const lms::TraceModel& model, const lms::PlannerOptions& options) {
  const auto without = model.largest_size(options.budget, options.movable, false);
  const auto with = model.largest_size(options.budget, options.movable, true);
  fmt::print("largest input          {} elements without LMS, {} with LMS", without, with);
  if (without > 0)
    fmt::print(" ({:.1f}x)", static_cast<double>(with) / static_cast<double>(without));
  fmt::print("\n");
}

void write_files(const SimulateRequest& request, const lms::Plan& plan, const lms::Report& report,
                 const std::string& title) {
  if (!request.plan.empty()) os::write_whole(request.plan, lms::to_json(plan));
  if (!request.json.empty()) os::write_whole(request.json, lms::to_json(report));
  if (!request.plot.empty()) os::write_whole(request.plot, lms::to_svg(report, title));
}

// Prints the prediction. Returns the exit code: 1 if the budget is too small.
int report_on(const lms::Trace& trace, const lms::PlannerOptions& options,
              const SimulateRequest& request, const std::string& title) {
  const bool is_feasible = lms::minimum_budget(trace, options.movable).bytes <= options.budget;
  const lms::Plan plan = is_feasible ? lms::make_plan(trace, options) : lms::Plan{};
  const lms::Report report = lms::make_report(trace, plan, options);
  fmt::print("{}", lms::to_text(report));
  write_files(request, plan, report, title);
  return is_feasible ? 0 : 1;
}

lms::Tier tier_of(const SimulateRequest& request, const Options& values) {
  lms::Tier tier;
  tier.latency = request.latency * 1e-6;
  if (request.write_bandwidth.empty() || request.read_bandwidth.empty()) {
    lms::SwapFile file(values.text("swap_dir"), io::FileQueue::Engine::kAuto, {});
    const lms::DiskBandwidth disk = lms::measure_disk(file, kDiskBytes);
    fmt::print("disk                   writes {:.2f} GB/s, reads {:.2f} GB/s\n", disk.write / 1e9,
               disk.read / 1e9);
    tier.write_bandwidth = disk.write;
    tier.read_bandwidth = disk.read;
  }
  const auto set = [](double& bandwidth, const std::string& text) {
    if (!text.empty()) bandwidth = static_cast<double>(parse_bytes(text));
  };
  set(tier.write_bandwidth, request.write_bandwidth);
  set(tier.read_bandwidth, request.read_bandwidth);
  return tier;
}

int simulate_traces(const SimulateRequest& request, const lms::PlannerOptions& options) {
  lms::Trace trace = read_trace(request.traces[0]);
  const std::string title = "Memory of a step: " + fs::path(request.traces[0]).stem().string();
  if (request.traces.size() == 1) return report_on(trace, options, request, title);
  if (request.sizes.size() != 2) {
    throw ConfigError("DDL-1-03", "Two traces need their input sizes. Add --sizes SMALL,LARGE.");
  }
  const lms::TraceModel model(std::move(trace), request.sizes[0], read_trace(request.traces[1]),
                              request.sizes[1]);
  const int code = report_on(model.at(request.size > 0 ? request.size : request.sizes[1]), options,
                             request, title);
  print_largest(model, options);
  return code;
}

// Runs steps of the case at two affordable sizes and extrapolates.
int simulate_case(const SimulateRequest& request, const lms::PlannerOptions& options) {
  const bench::SizedCase& sized = bench::find_sized_case(request.case_name);
  const std::vector<int> sizes =
      request.recorded.empty() ? std::vector<int>{sized.small, sized.large} : request.recorded;
  const double size = request.size > 0 ? request.size : sizes[1];
  for (const int recorded : sizes) {
    if (sized.has_same_network(size, recorded)) continue;
    throw ConfigError(
        "DDL-1-03",
        fmt::format("Inputs of {0} from size {1} on have a network with more layers, so size {2} "
                    "does not predict size {3}. Name two sizes {4} {1} with --recorded.",
                    request.case_name, sized.full_size, recorded, size,
                    size < sized.full_size ? "below" : "from"));
  }
  std::vector<lms::Trace> traces;
  for (const int recorded : sizes) {
    fmt::print("recorded step          size {}\n", recorded);
    fflush(stdout);
    traces.push_back(bench::record_step(sized.network(recorded, request.case_options)));
  }
  const lms::TraceModel model(traces[0], sized.elements(sizes[0]), traces[1],
                              sized.elements(sizes[1]));
  const std::string title = fmt::format("Memory of a step: {}, size {}", request.case_name, size);
  const int code = report_on(model.at(sized.elements(size)), options, request, title);
  const auto side = [&](bool is_enabled) {
    return static_cast<int>(sized.size_of(
        static_cast<double>(model.largest_size(options.budget, options.movable, is_enabled))));
  };
  fmt::print("largest size           {} without LMS, {} with LMS\n", side(false), side(true));
  if (!sized.has_same_network(size, side(true))) {
    fmt::print("This is the network of sizes below {}; larger inputs have one with more layers.\n",
               sized.full_size);
  }
  print_largest(model, options);
  return code;
}

int simulate_script(const SimulateRequest& request, const lms::PlannerOptions& options) {
  if (request.shape.empty()) {
    throw ConfigError("DDL-1-03",
                      "--script needs the shape of the input. Add --shape, such as 1,3,224,224.");
  }
  bench::NetworkArguments network = {"script", request.script};
  for (const int dimension : request.shape) network.push_back(std::to_string(dimension));
  return report_on(bench::record_step(network), options, request,
                   "Memory of a step: " + fs::path(request.script).stem().string());
}

int run_simulate(int argc, char** argv) {
  CLI::App app("Predicts memory and time of a training step with large model support",
               "tutti lms simulate");
  SimulateRequest request;
  add_options(app, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Options values = options_of(request);
  if (request.plot.empty()) request.plot = values.text("autotune_plot");
  for (const std::string& file : {request.json, request.plot, request.plan}) {
    if (!file.empty()) os::check_writable(file);
  }
  const std::int64_t budget = parse_bytes(request.budget);
  const lms::PlannerOptions options =
      lms::planner_options(values, budget, tier_of(request, values));
  if (!request.traces.empty()) return simulate_traces(request, options);
  if (!request.case_name.empty()) return simulate_case(request, options);
  if (!request.script.empty()) return simulate_script(request, options);
  throw ConfigError("DDL-1-03", "Nothing to simulate. Name --case, --script or --trace.");
}

int run_options(int, char**) {
  fmt::print("{}", reference_markdown("Options of large model support", lms::lms_options()));
  return 0;
}

}  // namespace

int run_lms(int argc, char** argv) {
  static constexpr Command kCommands[] = {
      {"options", "the options, as Markdown", run_options},
      {"simulate", "predict memory and time of a training step", run_simulate},
  };
  return dispatch("tutti lms", kCommands, argc, argv);
}

}  // namespace tutti::app
