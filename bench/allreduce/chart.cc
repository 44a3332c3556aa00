#include <fmt/format.h>

#include <algorithm>

#include "bench/allreduce/lines.h"
#include "bench/allreduce/report.h"
#include "tutti/core/bytes.h"

namespace tutti::bench {
namespace {

double plotted(const AllreduceSettings& settings, std::int64_t bytes, double seconds) {
  return settings.plot_time ? seconds : bandwidth(bytes, seconds);
}

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::int64_t>(bytes + 0.5));
}

std::string number_text(double number) {
  return fmt::format("{:g}", number);
}

// Ticks are round numbers: "10 us", not "10.0 us".
std::string time_text(double seconds) {
  if (seconds < 0.99e-6) return fmt::format("{:g} ns", seconds * 1e9);
  if (seconds < 0.99e-3) return fmt::format("{:g} us", seconds * 1e6);
  if (seconds < 0.99) return fmt::format("{:g} ms", seconds * 1e3);
  return fmt::format("{:g} s", seconds);
}

plot::Series series_of(const AllreduceSettings& settings, const Outcome& outcome,
                       const Line& line) {
  plot::Series series{
      line.name(), line.is_ours() ? plot::LineStyle::kOurs : plot::LineStyle::kPeer, {}};
  for (std::int64_t bytes : settings.sizes) {
    const Summary* seconds = outcome.find(line.system, line.memory, bytes);
    if (!seconds) continue;
    auto [low, high] = std::minmax(
        {plotted(settings, bytes, seconds->low), plotted(settings, bytes, seconds->high)});
    series.points.push_back(
        {static_cast<double>(bytes), plotted(settings, bytes, seconds->median), low, high});
  }
  return series;
}

plot::Series bound_series(const AllreduceSettings& settings, const Outcome& outcome) {
  plot::Series bound{
      settings.hosts > 1 ? "bound by links" : "bound by memory", plot::LineStyle::kBound, {}};
  for (std::int64_t bytes : settings.sizes)
    if (double seconds = bound_seconds(settings, outcome, bytes); seconds > 0)
      bound.points.push_back({static_cast<double>(bytes), plotted(settings, bytes, seconds)});
  return bound;
}

}  // namespace

plot::Chart chart_of(const AllreduceSettings& settings, const Outcome& outcome,
                     const Machine& machine) {
  plot::Chart chart{heading(settings), one_line(machine), {"message size", 4, bytes_text}, {}, {}};
  if (settings.plot_time)
    chart.y = {"time of one all-reduce", 10, time_text};
  else
    chart.y = {"algorithm bandwidth, GB/s", 10, number_text};
  for (const Line& line : lines_of(settings))
    chart.series.push_back(series_of(settings, outcome, line));
  chart.series.push_back(bound_series(settings, outcome));
  return chart;
}

}  // namespace tutti::bench
