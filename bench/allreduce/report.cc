#include "bench/allreduce/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/allreduce/lines.h"
#include "bench/harness/table.h"
#include "tutti/core/bytes.h"

namespace tutti::bench {
namespace {

std::vector<std::string> cells_of(const AllreduceSettings& settings, const Outcome& outcome,
                                  const Line& line, std::int64_t bytes, const Summary& seconds) {
  std::vector<std::string> cells = {
      line.name(), format_seconds(seconds.median),
      fmt::format("{} .. {}", format_seconds(seconds.low), format_seconds(seconds.high)),
      format_digits(bandwidth(bytes, seconds.median))};
  for (const std::string& baseline : settings.baselines) {
    const Summary* theirs = line.is_ours() ? outcome.find(baseline, "caller", bytes) : nullptr;
    cells.push_back(theirs ? fmt::format("{:.2f}x", theirs->median / seconds.median) : "");
  }
  double bound = bound_seconds(settings, outcome, bytes);
  double share = 100 * bound / seconds.median;
  cells.push_back(bound > 0 ? fmt::format("{:.{}f} %", share, share < 10 ? 1 : 0) : "");
  return cells;
}

// The cases in which a baseline is faster than Tutti, with the fastest baseline of each.
std::string where_baselines_win(const AllreduceSettings& settings, const Outcome& outcome) {
  std::string text;
  for (const std::string& memory : settings.memory) {
    for (std::int64_t bytes : settings.sizes) {
      const Summary* ours = outcome.find("tutti", memory, bytes);
      std::pair<double, std::string> best = {0, ""};
      for (const std::string& baseline : settings.baselines)
        if (const Summary* theirs = outcome.find(baseline, "caller", bytes); ours && theirs)
          best = std::max(best, {ours->median / theirs->median, baseline});
      if (best.first > 1)
        text += fmt::format("  {} at {}: {} is {:.2f}x faster\n", memory, format_bytes(bytes),
                            best.second, best.first);
    }
  }
  return text;
}

std::string bound_text(const AllreduceSettings& settings, const Outcome& outcome) {
  if (settings.hosts > 1)
    return "bound: links, 2 (hosts - 1) / hosts x bytes per host at 94.1 % of the link rate";
  const Summary* largest = outcome.find("traffic", "caller", settings.sizes.back());
  if (!largest) return "bound: not measured";
  return fmt::format(
      "bound: 2 x ranks x bytes at the read+write traffic of the same cores in this run "
      "({} GB/s at {})",
      format_digits(traffic(settings, settings.sizes.back(), largest->median)),
      format_bytes(settings.sizes.back()));
}

}  // namespace

std::string text_of(const AllreduceSettings& settings, const Outcome& outcome) {
  std::vector<std::string> header = {"bytes", "system", "median", "quartiles", "GB/s"};
  for (const std::string& baseline : settings.baselines) header.push_back("vs " + baseline);
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
  if (std::string wins = where_baselines_win(settings, outcome); !wins.empty())
    text += "\nBaselines are faster in:\n" + wins;
  for (const std::string& message : outcome.skipped) text += "\n" + message;
  for (const std::string& message : outcome.failures) text += "\nFAILED " + message;
  return text.ends_with('\n') ? text : text + "\n";
}

}  // namespace tutti::bench
