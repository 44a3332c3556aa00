#include "bench/allreduce/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/allreduce/systems.h"
#include "bench/harness/table.h"
#include "tutti/core/bytes.h"

namespace tutti::bench {
namespace {

// What is left of a link's rate for payload: 1448 of 1538 bytes per Ethernet frame with TCP time
// stamps.
constexpr double kPayloadShare = 0.941;

struct Line {
  std::string system, memory;
  bool is_ours() const { return system == "tutti"; }
  std::string name() const { return is_ours() ? system + " " + memory : system; }
};

// Ours first, then the peers in the order they were asked for.
std::vector<Line> lines_of(const AllreduceSettings& settings) {
  std::vector<Line> lines;
  for (const std::string& memory : settings.memory) lines.push_back({"tutti", memory});
  for (const std::string& peer : settings.peers) lines.push_back({peer, "foreign"});
  return lines;
}

double bandwidth(std::int64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds * 1e-9;
}

// Read and write traffic of one pass over `bytes` by every rank.
double traffic(const AllreduceSettings& settings, std::int64_t bytes, double seconds) {
  return 2.0 * settings.ranks() * bandwidth(bytes, seconds);
}

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
    row.fields["deal"] = settings.deal_by_node ? "node" : "slot";
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
  for (const std::string& peer : settings.peers) {
    const Summary* theirs = outcome.find(peer, "foreign", bytes);
    if (!theirs) continue;
    rows.push_back(row_of(settings, line, bytes, "ratio", theirs->median / ours.median, "x"));
    rows.back().fields["peer"] = peer;
  }
  if (double bound = bound_seconds(settings, outcome, bytes); bound > 0)
    rows.push_back(row_of(settings, line, bytes, "share_of_bound", 100 * bound / ours.median, "%"));
}

std::vector<std::string> cells_of(const AllreduceSettings& settings, const Outcome& outcome,
                                  const Line& line, std::int64_t bytes, const Summary& seconds) {
  std::vector<std::string> cells = {
      line.name(), format_seconds(seconds.median),
      fmt::format("{} .. {}", format_seconds(seconds.low), format_seconds(seconds.high)),
      format_digits(bandwidth(bytes, seconds.median))};
  for (const std::string& peer : settings.peers) {
    const Summary* theirs = line.is_ours() ? outcome.find(peer, "foreign", bytes) : nullptr;
    cells.push_back(theirs ? fmt::format("{:.2f}x", theirs->median / seconds.median) : "");
  }
  double bound = bound_seconds(settings, outcome, bytes);
  cells.push_back(bound > 0 ? fmt::format("{:.0f} %", 100 * bound / seconds.median) : "");
  return cells;
}

// The cases where a peer is faster than ours, the best peer of each.
std::string where_peers_win(const AllreduceSettings& settings, const Outcome& outcome) {
  std::string text;
  for (const std::string& memory : settings.memory) {
    for (std::int64_t bytes : settings.sizes) {
      const Summary* ours = outcome.find("tutti", memory, bytes);
      std::pair<double, std::string> best = {0, ""};
      for (const std::string& peer : settings.peers)
        if (const Summary* theirs = outcome.find(peer, "foreign", bytes); ours && theirs)
          best = std::max(best, {ours->median / theirs->median, peer});
      if (best.first > 1)
        text += fmt::format("  {} at {}: {} is {:.2f}x faster\n", memory, format_bytes(bytes),
                            best.second, best.first);
    }
  }
  return text;
}

std::string heading(const AllreduceSettings& settings) {
  std::string text = fmt::format("All-reduce, sum of f32 in place, {} ranks on {} host{}",
                                 settings.ranks(), settings.hosts, settings.hosts > 1 ? "s" : "");
  if (settings.hosts > 1)
    text += fmt::format(", dealt by {}, {:g} Gbit/s links", settings.deal_by_node ? "node" : "slot",
                        settings.link_gigabits);
  return text;
}

std::string bound_text(const AllreduceSettings& settings, const Outcome& outcome) {
  if (settings.hosts > 1)
    return "bound: the links, 2 (hosts - 1) / hosts times the bytes out of every host at 94.1 % of "
           "the rate";
  const Summary* largest = outcome.find("traffic", "foreign", settings.sizes.back());
  if (!largest) return "bound: not measured";
  return fmt::format(
      "bound: 2 x ranks x bytes at the read+write traffic of the same cores in this run "
      "({} GB/s at {})",
      format_digits(traffic(settings, settings.sizes.back(), largest->median)),
      format_bytes(settings.sizes.back()));
}

}  // namespace

double bound_seconds(const AllreduceSettings& settings, const Outcome& outcome,
                     std::int64_t bytes) {
  if (settings.hosts > 1) {
    double hosts = settings.hosts;
    double bits = 2 * (hosts - 1) / hosts * static_cast<double>(bytes) * 8;
    return bits / (settings.link_gigabits * 1e9 * kPayloadShare);
  }
  const Summary* pass = outcome.find("traffic", "foreign", bytes);
  return pass ? pass->median : 0;
}

std::vector<Row> rows_of(const AllreduceSettings& settings, const Outcome& outcome) {
  std::vector<Row> rows;
  for (std::int64_t bytes : settings.sizes) {
    for (const Line& line : lines_of(settings)) {
      const Summary* seconds = outcome.find(line.system, line.memory, bytes);
      if (!seconds) continue;
      add_measured(settings, line, bytes, *seconds, rows);
      if (line.is_ours()) add_compared(settings, outcome, line, bytes, *seconds, rows);
    }
    if (const Summary* pass = outcome.find("traffic", "foreign", bytes)) {
      rows.push_back(row_of(settings, {"traffic", "foreign"}, bytes, "traffic",
                            traffic(settings, bytes, pass->median), "GB/s"));
      add_spread(rows.back(), traffic(settings, bytes, pass->low),
                 traffic(settings, bytes, pass->high), pass->samples);
    }
  }
  return rows;
}

std::string text_of(const AllreduceSettings& settings, const Outcome& outcome) {
  std::vector<std::string> header = {"bytes", "system", "median", "quartiles", "GB/s"};
  for (const std::string& peer : settings.peers) header.push_back("vs " + peer);
  header.push_back("of bound");
  Table table(header);
  for (std::int64_t bytes : settings.sizes) {
    if (bytes != settings.sizes.front()) table.add_gap();
    std::string size = format_bytes(bytes);
    for (const Line& line : lines_of(settings)) {
      const Summary* seconds = outcome.find(line.system, line.memory, bytes);
      if (!seconds) continue;
      std::vector<std::string> cells = cells_of(settings, outcome, line, bytes, *seconds);
      cells.insert(cells.begin(), std::exchange(size, ""));
      table.add(cells);
    }
  }
  std::string text =
      heading(settings) + "\n" + bound_text(settings, outcome) + "\n\n" + table.text();
  if (std::string wins = where_peers_win(settings, outcome); !wins.empty())
    text += "\nPeers are faster here:\n" + wins;
  for (const std::string& sentence : outcome.skipped) text += "\n" + sentence;
  for (const std::string& sentence : outcome.failures) text += "\nFAILED " + sentence;
  return text.ends_with('\n') ? text : text + "\n";
}

Chart chart_of(const AllreduceSettings& settings, const Outcome& outcome) {
  auto value = [&](std::int64_t bytes, double seconds) {
    return settings.plot_time ? seconds : bandwidth(bytes, seconds);
  };
  auto bytes_text = [](double bytes) {
    return format_bytes(static_cast<std::int64_t>(bytes + 0.5));
  };
  auto number_text = [](double number) { return fmt::format("{:g}", number); };
  Chart chart{
      heading(settings), one_line(describe_machine()), {"message size", 4, bytes_text}, {}, {}};
  if (settings.plot_time)
    chart.y = {"time of one all-reduce", 10, format_seconds};
  else
    chart.y = {"algorithm bandwidth, GB/s", 10, number_text};

  for (const Line& line : lines_of(settings)) {
    Series series{line.name(), line.is_ours() ? LineStyle::kOurs : LineStyle::kPeer, {}};
    for (std::int64_t bytes : settings.sizes) {
      const Summary* seconds = outcome.find(line.system, line.memory, bytes);
      if (!seconds) continue;
      double low = value(bytes, seconds->low), high = value(bytes, seconds->high);
      series.points.push_back({static_cast<double>(bytes), value(bytes, seconds->median),
                               std::min(low, high), std::max(low, high)});
    }
    chart.series.push_back(series);
  }
  Series bound{
      settings.hosts > 1 ? "what the links allow" : "what memory allows", LineStyle::kBound, {}};
  for (std::int64_t bytes : settings.sizes)
    if (double seconds = bound_seconds(settings, outcome, bytes); seconds > 0)
      bound.points.push_back({static_cast<double>(bytes), value(bytes, seconds)});
  chart.series.push_back(bound);
  return chart;
}

}  // namespace tutti::bench
