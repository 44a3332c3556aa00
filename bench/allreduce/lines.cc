#include "bench/allreduce/lines.h"

#include <fmt/format.h>

namespace tutti::bench {
namespace {

// Fraction of the link rate available for payload: 1448 of 1538 bytes per Ethernet frame with TCP time stamps.
constexpr double kPayloadShare = 0.941;

}  // namespace

std::vector<Line> lines_of(const AllreduceSettings& settings) {
  std::vector<Line> lines;
  for (const std::string& memory : settings.memory) lines.push_back({"tutti", memory});
  for (const std::string& baseline : settings.baselines) lines.push_back({baseline, "caller"});
  return lines;
}

double bandwidth(std::int64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds * 1e-9;
}

double traffic(const AllreduceSettings& settings, std::int64_t bytes, double seconds) {
  return 2.0 * settings.ranks() * bandwidth(bytes, seconds);
}

std::string heading(const AllreduceSettings& settings) {
  std::string text = fmt::format("All-reduce, sum of f32 in place, {} ranks on {} host{}",
                                 settings.ranks(), settings.hosts, settings.hosts > 1 ? "s" : "");
  if (settings.hosts > 1)
    text += fmt::format(", mapped by {}, {:g} Gbit/s links", settings.map_by_node ? "node" : "slot",
                        settings.link_gigabits);
  return text;
}

double bound_seconds(const AllreduceSettings& settings, const Outcome& outcome,
                     std::int64_t bytes) {
  if (settings.hosts > 1) {
    double hosts = settings.hosts;
    double bits = 2 * (hosts - 1) / hosts * static_cast<double>(bytes) * 8;
    return bits / (settings.link_gigabits * 1e9 * kPayloadShare);
  }
  const Summary* pass = outcome.find("traffic", "caller", bytes);
  return pass ? pass->median : 0;
}

}  // namespace tutti::bench
