#include <algorithm>

#include "bench/allreduce/lines.h"
#include "bench/allreduce/report.h"
#include "bench/allreduce/systems.h"

namespace tutti::bench {
namespace {

Row row_of(const AllreduceSettings& settings, const Line& line, std::int64_t bytes,
           std::string metric, double value, std::string unit) {
  Row row{"allreduce", line.system, std::move(metric), value, std::move(unit)};
  row.fields = {{"ranks", settings.ranks()},
                {"hosts", settings.hosts},
                {"ranks_per_host", settings.ranks_per_host},
                {"bytes", bytes},
                {"memory", line.memory},
                {"dtype", "f32"},
                {"op", "sum"}};
  if (settings.hosts > 1) {
    row.fields["map_by"] = settings.map_by_node ? "node" : "slot";
    row.fields["deal"] = row.fields["map_by"];  // deprecated name
    row.fields["link_gigabits"] = settings.link_gigabits;
  }
  return row;
}

void add_spread(Row& row, double low, double high, int samples) {
  row.fields["low"] = std::min(low, high);
  row.fields["high"] = std::max(low, high);
  row.fields["samples"] = samples;
}

void add_measured(const AllreduceSettings& settings, const Line& line, std::int64_t bytes,
                  const Summary& seconds, std::vector<Row>& rows) {
  rows.push_back(row_of(settings, line, bytes, "time", seconds.median * 1e6, "us"));
  add_spread(rows.back(), seconds.low * 1e6, seconds.high * 1e6, seconds.samples);
  rows.back().fields["settings"] = settings_note(line.system);
  rows.push_back(row_of(settings, line, bytes, "algorithm_bandwidth",
                        bandwidth(bytes, seconds.median), "GB/s"));
  add_spread(rows.back(), bandwidth(bytes, seconds.low), bandwidth(bytes, seconds.high),
             seconds.samples);
}

void add_compared(const AllreduceSettings& settings, const Outcome& outcome, const Line& line,
                  std::int64_t bytes, const Summary& ours, std::vector<Row>& rows) {
  for (const std::string& baseline : settings.baselines) {
    const Summary* theirs = outcome.find(baseline, "caller", bytes);
    if (!theirs) continue;
    rows.push_back(row_of(settings, line, bytes, "ratio", theirs->median / ours.median, "x"));
    set_baseline(rows.back(), baseline);
  }
  if (double bound = bound_seconds(settings, outcome, bytes); bound > 0)
    rows.push_back(row_of(settings, line, bytes, "share_of_bound", 100 * bound / ours.median, "%"));
}

}  // namespace

std::vector<Row> rows_of(const AllreduceSettings& settings, const Outcome& outcome) {
  std::vector<Row> rows;
  for (std::int64_t bytes : settings.sizes) {
    for (const Line& line : lines_of(settings)) {
      const Summary* seconds = outcome.find(line.system, line.memory, bytes);
      if (!seconds) continue;
      add_measured(settings, line, bytes, *seconds, rows);
      if (line.is_ours()) add_compared(settings, outcome, line, bytes, *seconds, rows);
    }
    if (const Summary* pass = outcome.find("traffic", "caller", bytes)) {
      rows.push_back(row_of(settings, {"traffic", "caller"}, bytes, "traffic",
                            traffic(settings, bytes, pass->median), "GB/s"));
      add_spread(rows.back(), traffic(settings, bytes, pass->low),
                 traffic(settings, bytes, pass->high), pass->samples);
    }
  }
  return rows;
}

}  // namespace tutti::bench
