#include "bench/lms/contest.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "tutti/core/error.h"
#include "tutti/lms/planner.h"
#include "tutti/lms/report.h"
#include "tutti/plot/chart.h"

namespace tutti::bench {
namespace {

constexpr std::int64_t kDiskBytes = 512 << 20;
constexpr double kMebibyte = 1 << 20;

// Seconds of the operators before, and from, the first one of the backward pass.
std::pair<double, double> forward_and_backward(const lms::Trace& trace) {
  double forward = 0, backward = 0;
  for (const lms::Operator& op : trace.operators) {
    (op.phase == lms::Phase::kBackward ? backward : forward) += op.end - op.start;
  }
  return {forward, backward};
}

double ratio(double seconds, double reference) {
  return reference > 0 ? seconds / reference : 0;
}

}  // namespace

LmsOutcome run_lms_contest(const LmsSettings& settings) {
  const SizedCase& sized = find_sized_case(settings.case_name);
  LmsOutcome outcome;
  outcome.size = settings.size > 0 ? settings.size : sized.large;
  const NetworkArguments network = sized.network(outcome.size, settings.options);
  Progress progress(static_cast<int>(3 + baselines_of(network).size() + settings.fractions.size()));
  progress.step("disk");
  lms::SwapFile disk(settings.directory, io::FileQueue::Engine::kAuto, {});
  outcome.disk = lms::measure_disk(disk, kDiskBytes);
  progress.step("recorded step");
  const lms::Trace trace = record_step(network);
  const lms::Requirement minimum = lms::minimum_budget(trace, {});
  outcome.peak_without = lms::peak_bytes(trace);
  outcome.minimum = minimum.bytes;
  if (minimum.op >= 0)
    outcome.minimum_operator = trace.operators[static_cast<std::size_t>(minimum.op)].name;
  progress.step("without LMS");
  const StepRun reference = run_steps(0, settings.steps, network);
  outcome.seconds_without = reference.step_seconds();
  for (const std::string& baseline : baselines_of(network)) {
    progress.step(baseline);
    outcome.baselines.emplace_back(baseline, run_baseline(baseline, settings.steps, network));
  }
  for (const double fraction : settings.fractions) {
    LmsResult result;
    result.fraction = fraction;
    result.budget = static_cast<std::int64_t>(static_cast<double>(outcome.peak_without) * fraction);
    progress.step(fmt::format("budget {:.0f} MiB", static_cast<double>(result.budget) / kMebibyte));
    lms::PlannerOptions options;
    options.budget = result.budget;
    options.tier = {.write_bandwidth = outcome.disk.write,
                    .read_bandwidth = outcome.disk.read,
                    .latency = 1e-4};
    options.recomputes = false;
    try {
      const lms::Plan plan = lms::make_plan(trace, options);
      const lms::Simulation predicted = lms::simulate(trace, plan, options.simulator());
      result.predicted_seconds = ratio(predicted.seconds, trace.duration) * outcome.seconds_without;
      result.run = run_steps(result.budget, settings.steps, network);
      result.is_identical =
          result.run.losses == reference.losses && result.run.gradients == reference.gradients;
      const auto [forward, backward] = forward_and_backward(trace);
      outcome.break_even = {ratio(static_cast<double>(predicted.written), forward),
                            ratio(static_cast<double>(predicted.read), backward)};
      outcome.results.push_back(std::move(result));
    } catch (const Error& error) {
      outcome.failures.push_back(
          fmt::format("{:.0f} % of the peak: {}", 100 * fraction, error.what()));
    }
  }
  return outcome;
}

std::vector<Row> rows_of(const LmsSettings& settings, const LmsOutcome& outcome) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& system, const std::string& metric, double value,
                       const std::string& unit) -> Row& {
    rows.push_back({"lms",
                    system,
                    metric,
                    value,
                    unit,
                    {{"case", settings.case_name}, {"size", outcome.size}}});
    return rows.back();
  };
  add("disk", "write_bandwidth", outcome.disk.write, "B/s");
  add("disk", "read_bandwidth", outcome.disk.read, "B/s");
  add("disk", "break_even_write", outcome.break_even.write, "B/s");
  add("disk", "break_even_read", outcome.break_even.read, "B/s");
  add("torch", "peak", static_cast<double>(outcome.peak_without), "B");
  add("torch", "step", outcome.seconds_without, "s");
  for (const auto& [name, run] : outcome.baselines) {
    add("torch " + name, "peak", static_cast<double>(run.peak), "B");
    add("torch " + name, "step", run.step_seconds(), "s");
  }
  add("tutti", "minimum_budget", static_cast<double>(outcome.minimum), "B");
  for (const LmsResult& result : outcome.results) {
    const auto add_result = [&](const std::string& metric, double value, const std::string& unit) {
      add("tutti", metric, value, unit).fields["budget"] = result.budget;
    };
    add_result("step", result.run.step_seconds(), "s");
    add_result("predicted_step", result.predicted_seconds, "s");
    add_result("peak", static_cast<double>(result.run.peak), "B");
    add_result("written", static_cast<double>(result.run.written), "B");
    add_result("read", static_cast<double>(result.run.read), "B");
    add_result("unplanned_reads", static_cast<double>(result.run.unplanned_reads), "");
    add_result("identical", result.is_identical ? 1 : 0, "");
  }
  return rows;
}

std::string text_of(const LmsSettings& settings, const LmsOutcome& outcome) {
  const auto mebibytes = [](std::int64_t bytes) {
    return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / kMebibyte);
  };
  std::string text = fmt::format(
      "{} of size {}: peak {} and step {} without LMS; smallest budget {} ({})\n"
      "disk: writes {:.2f} GB/s, reads {:.2f} GB/s\n",
      settings.case_name, outcome.size, mebibytes(outcome.peak_without),
      format_seconds(outcome.seconds_without), mebibytes(outcome.minimum), outcome.minimum_operator,
      outcome.disk.write / 1e9, outcome.disk.read / 1e9);
  Table table({"budget", "of the peak", "resident", "step", "slower", "predicted", "out", "in",
               "unplanned", "identical"});
  for (const LmsResult& result : outcome.results) {
    const double seconds = result.run.step_seconds();
    table.add({mebibytes(result.budget), fmt::format("{:.0f} %", 100 * result.fraction),
               mebibytes(result.run.peak), format_seconds(seconds),
               fmt::format("{:+.1f} %", 100 * (ratio(seconds, outcome.seconds_without) - 1)),
               format_seconds(result.predicted_seconds), mebibytes(result.run.written),
               mebibytes(result.run.read), std::to_string(result.run.unplanned_reads),
               result.is_identical ? "yes" : "no"});
  }
  for (const auto& [name, run] : outcome.baselines) {
    const double seconds = run.step_seconds();
    table.add({"torch " + name,
               fmt::format("{:.0f} %", 100 * ratio(static_cast<double>(run.peak),
                                                   static_cast<double>(outcome.peak_without))),
               mebibytes(run.peak), format_seconds(seconds),
               fmt::format("{:+.1f} %", 100 * (ratio(seconds, outcome.seconds_without) - 1)), "",
               "", "", "", ""});
  }
  text += table.text();
  text += fmt::format(
      "break-even at the smallest budget: the disk writes {:.2f} GB/s and reads {:.2f} GB/s\n",
      outcome.break_even.write / 1e9, outcome.break_even.read / 1e9);
  for (const std::string& failure : outcome.failures) text += "failed: " + failure + "\n";
  return text;
}

std::string svg_of(const LmsSettings& settings, const LmsOutcome& outcome) {
  plot::Chart chart;
  chart.title = fmt::format("Step time within a memory budget: {}, size {}", settings.case_name,
                            outcome.size);
  chart.subtitle =
      fmt::format("peak without LMS {:.0f} MiB; disk writes {:.2f} GB/s, reads {:.2f} GB/s",
                  static_cast<double>(outcome.peak_without) / kMebibyte, outcome.disk.write / 1e9,
                  outcome.disk.read / 1e9);
  chart.x = {
      .label = "budget, % of the peak without LMS", .text = plot::plain_text, .is_linear = true};
  chart.y = {
      .label = "step time, % of the time without LMS", .text = plot::plain_text, .is_linear = true};
  plot::Series measured{"measured", plot::LineStyle::kOurs, {}},
      predicted{"predicted", plot::LineStyle::kPeer, {}};
  for (const LmsResult& result : outcome.results) {
    measured.points.push_back(
        {.x = 100 * result.fraction,
         .y = 100 * ratio(result.run.step_seconds(), outcome.seconds_without)});
    predicted.points.push_back(
        {.x = 100 * result.fraction,
         .y = 100 * ratio(result.predicted_seconds, outcome.seconds_without)});
  }
  for (plot::Series* series : {&measured, &predicted})
    std::ranges::sort(series->points, {}, &plot::Point::x);
  chart.series = {measured, predicted};
  return plot::render_svg(chart);
}

}  // namespace tutti::bench
