#include "tutti/lms/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "tutti/core/rounded_bytes.h"
#include "tutti/lms/planner.h"
#include "tutti/plot/chart.h"

namespace tutti::lms {
namespace {

constexpr double kNegligible = 0.01;  // fraction of the step
constexpr std::int64_t kMebibyte = 1 << 20;
constexpr int kMemoryBisections = 8;
constexpr int kBandwidthBisections = 5;
constexpr double kMostBandwidth = 64;  // multiple of the measured bandwidth
constexpr double kMostSamples = 600;   // of a curve in the plot

double overhead_of(const Trace& trace, const PlannerOptions& options) {
  const Plan plan = make_plan(trace, options);
  return simulate(trace, plan, options.simulator()).seconds / trace.duration - 1;
}

std::int64_t find_more_memory(const Trace& trace, PlannerOptions options, std::int64_t peak) {
  const std::int64_t budget = options.budget;
  std::int64_t low = budget, high = std::max(budget, peak);
  for (int round = 0; round < kMemoryBisections && high - low > kMebibyte; ++round) {
    options.budget = low + (high - low) / 2;
    (overhead_of(trace, options) <= kNegligible ? high : low) = options.budget;
  }
  return (high - budget + kMebibyte - 1) / kMebibyte * kMebibyte;
}

double find_more_bandwidth(const Trace& trace, PlannerOptions options) {
  const Tier tier = options.tier;
  const auto suffices = [&](double factor) {
    options.tier.write_bandwidth = tier.write_bandwidth * factor;
    options.tier.read_bandwidth = tier.read_bandwidth * factor;
    return overhead_of(trace, options) <= kNegligible;
  };
  if (!suffices(kMostBandwidth)) return 0;
  double low = 1, high = kMostBandwidth;
  for (int round = 0; round < kBandwidthBisections; ++round) {
    const double middle = std::sqrt(low * high);
    (suffices(middle) ? high : low) = middle;
  }
  return high;
}

// At most kMostSamples steps; each keeps the largest value of its interval, so peaks stay visible.
std::vector<plot::Point> thinned(const std::vector<Sample>& samples, double end) {
  constexpr double kGibibyte = 1 << 30;
  std::vector<plot::Point> points;
  const double width = end / kMostSamples;
  for (const Sample& sample : samples) {
    const double y = static_cast<double>(sample.bytes) / kGibibyte;
    if (!points.empty() && sample.seconds - points.back().x < width) {
      points.back().y = std::max(points.back().y, y);
    } else {
      points.push_back({.x = sample.seconds, .y = y});
    }
  }
  if (!points.empty()) points.push_back({.x = end, .y = points.back().y});
  return points;
}

std::string percent(double fraction) {
  return fmt::format("{:.0f} %", 100 * fraction);
}

std::string bandwidth_text(double bytes_per_second) {
  return std::isfinite(bytes_per_second) ? fmt::format("{:.2f} GB/s", bytes_per_second / 1e9)
                                         : "unlimited";
}

}  // namespace

Report make_report(const Trace& trace, const Plan& plan, const PlannerOptions& options) {
  Report report;
  report.budget = options.budget;
  report.tier = options.tier;
  report.peak_without = peak_bytes(trace);
  report.minimum = minimum_budget(trace, options.movable);
  if (report.minimum.op >= 0) {
    report.minimum_operator = trace.operators[static_cast<std::size_t>(report.minimum.op)].name;
  }
  report.seconds_without = trace.duration;
  report.predicted = simulate(trace, plan, options.simulator(true));
  report.without = simulate(trace, {}, {.records_curve = true}).resident;
  for (const Decision& decision : plan.decisions) {
    (decision.action == Action::kSwap ? report.swapped : report.recomputed)++;
  }
  if (report.predicted.is_feasible && report.overhead() > kNegligible) {
    report.more_memory = find_more_memory(trace, options, report.peak_without);
    report.more_bandwidth = find_more_bandwidth(trace, options);
  }
  return report;
}

std::vector<std::string> advice(const Report& report) {
  std::vector<std::string> lines;
  const Simulation& predicted = report.predicted;
  if (!predicted.is_feasible) {
    lines.push_back(
        fmt::format("The budget is too small: operator {} ({}) needs {}. Use at least {}.",
                    report.minimum.op, report.minimum_operator, rounded_bytes(report.minimum.bytes),
                    rounded_up_bytes(report.minimum.bytes)));
    return lines;
  }
  if (report.peak_without <= report.budget) {
    lines.push_back(
        fmt::format("Everything fits: the peak of {} is below the budget, and nothing moves.",
                    rounded_bytes(report.peak_without)));
    return lines;
  }
  const double stalls = predicted.write_stall + predicted.read_stall + predicted.transfer_cpu;
  if (report.overhead() <= kNegligible) {
    lines.push_back("All transfers overlap with computation.");
  } else if (stalls >= predicted.recompute) {
    std::string line = fmt::format("Disk-bound by {}", percent(stalls / report.seconds_without));
    line += report.more_memory > 0
                ? fmt::format(": {} more memory would remove it", rounded_bytes(report.more_memory))
                : "";
    if (report.more_bandwidth > 0) {
      line += fmt::format("{} a disk that writes {} and reads {}",
                          report.more_memory > 0 ? ", or" : ": it needs",
                          bandwidth_text(report.tier.write_bandwidth * report.more_bandwidth),
                          bandwidth_text(report.tier.read_bandwidth * report.more_bandwidth));
    }
    lines.push_back(line + ".");
    lines.push_back(predicted.write_stall > predicted.read_stall
                        ? "Most of the time is lost waiting for writes in the forward pass."
                        : "Most of the time is lost waiting for reads in the backward pass.");
  } else {
    lines.push_back(fmt::format(
        "Recomputation takes {} of the step; {} more memory would remove it.",
        percent(predicted.recompute / report.seconds_without), rounded_bytes(report.more_memory)));
  }
  if (predicted.unplanned_reads + predicted.unplanned_writes > 0) {
    lines.push_back(fmt::format(
        "{} transfers could not be planned because the budget is close to the minimum of {}.",
        predicted.unplanned_reads + predicted.unplanned_writes,
        rounded_bytes(report.minimum.bytes)));
  }
  const double per_hour = static_cast<double>(predicted.written) / predicted.seconds * 3600;
  if (predicted.written > 0 && predicted.seconds > 0) {
    lines.push_back(fmt::format("The disk is written with {} per hour.",
                                rounded_bytes(static_cast<std::int64_t>(per_hour))));
  }
  return lines;
}

std::string to_text(const Report& report) {
  const Simulation& predicted = report.predicted;
  std::string text;
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<22} {}\n", name, value);
  };
  row("budget", rounded_bytes(report.budget));
  row("smallest budget",
      fmt::format("{}, set by operator {} ({})", rounded_bytes(report.minimum.bytes),
                  report.minimum.op, report.minimum_operator));
  row("peak without LMS", rounded_bytes(report.peak_without));
  row("peak with LMS", rounded_bytes(predicted.peak));
  row("step without LMS", fmt::format("{:.3f} s", report.seconds_without));
  row("step with LMS",
      fmt::format("{:.3f} s ({:+.1f} %)", predicted.seconds, 100 * report.overhead()));
  row("stalls", fmt::format("{:.3f} s writing, {:.3f} s reading", predicted.write_stall,
                            predicted.read_stall));
  row("recomputation", fmt::format("{:.3f} s, {} blocks", predicted.recompute, report.recomputed));
  row("moved per step", fmt::format("{} out, {} in, {} swaps", rounded_bytes(predicted.written),
                                    rounded_bytes(predicted.read), report.swapped));
  row("unplanned transfers",
      fmt::format("{}", predicted.unplanned_reads + predicted.unplanned_writes));
  for (const std::string& line : advice(report)) text += line + "\n";
  return text;
}

std::string to_json(const Report& report) {
  const Simulation& predicted = report.predicted;
  nlohmann::ordered_json json = {
      {"feasible", predicted.is_feasible},
      {"budget", report.budget},
      {"minimum_budget", report.minimum.bytes},
      {"minimum_operator", report.minimum_operator},
      {"minimum_operator_index", report.minimum.op},
      {"peak_without", report.peak_without},
      {"peak", predicted.peak},
      {"seconds_without", report.seconds_without},
      {"seconds", predicted.seconds},
      {"write_stall", predicted.write_stall},
      {"read_stall", predicted.read_stall},
      {"recompute", predicted.recompute},
      {"transfer_cpu", predicted.transfer_cpu},
      {"written", predicted.written},
      {"read", predicted.read},
      {"swapped", report.swapped},
      {"recomputed", report.recomputed},
      {"unplanned_writes", predicted.unplanned_writes},
      {"unplanned_reads", predicted.unplanned_reads},
      {"more_memory", report.more_memory},
      {"more_bandwidth", report.more_bandwidth},
      {"advice", advice(report)},
  };
  auto& curve = json["resident"] = nlohmann::ordered_json::array();
  for (const Sample& sample : predicted.resident) curve.push_back({sample.seconds, sample.bytes});
  return json.dump(1) + "\n";
}

std::string to_svg(const Report& report, const std::string& title) {
  const double end = std::max(report.predicted.seconds, report.seconds_without);
  const double budget = static_cast<double>(report.budget) / (1 << 30);
  plot::Chart chart;
  chart.title = title;
  chart.subtitle = fmt::format("step {:.2f} s without and {:.2f} s with LMS, {} moved out",
                               report.seconds_without, report.predicted.seconds,
                               rounded_bytes(report.predicted.written));
  chart.x = {.label = "seconds", .text = plot::plain_text, .is_linear = true};
  chart.y = {.label = "resident tensor memory, GiB", .text = plot::plain_text, .is_linear = true};
  chart.series = {
      {"without LMS", plot::LineStyle::kPeer, thinned(report.without, report.seconds_without)},
      {"with LMS", plot::LineStyle::kOurs,
       thinned(report.predicted.resident, report.predicted.seconds)},
      {"budget", plot::LineStyle::kBound, {{.x = 0, .y = budget}, {.x = end, .y = budget}}},
  };
  return plot::render_svg(chart);
}

}  // namespace tutti::lms
