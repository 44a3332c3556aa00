#include "tutti/topo/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/core/bytes.h"
#include "tutti/topo/number_list.h"

namespace tutti::topo {
namespace {

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / 0x1p30);
}

std::string cache_line(const Machine& machine) {
  std::string line;
  for (const Cache& cache : machine.caches) {
    const char* const kind = cache.kind == "data" ? "d" : cache.kind == "instruction" ? "i" : "";
    line += fmt::format("{}L{}{} {} x {}", line.empty() ? "" : ", ", cache.level, kind, cache.count,
                        format_bytes(cache.bytes));
    if (cache.shared_by > 1) line += fmt::format(" (each for {} CPUs)", cache.shared_by);
  }
  return line.empty() ? "not known" : line;
}

std::string accelerator_line(const Accelerator& accelerator) {
  std::string line = accelerator.name;
  if (accelerator.model != "unknown") line += " " + accelerator.model;
  if (accelerator.memory) line += " " + gibibytes(accelerator.memory);
  if (accelerator.socket >= 0) line += fmt::format(" (socket {})", accelerator.socket);
  return line;
}

std::string ranks_per_host_text(const Layout& layout) {
  const auto [least, most] =
      std::ranges::minmax(layout.hosts, {}, [](const Host& host) { return host.ranks.size(); });
  if (least.ranks.size() == most.ranks.size()) return fmt::format("{} on each", least.ranks.size());
  return fmt::format("{} to {} on each", least.ranks.size(), most.ranks.size());
}

std::string dimension_line(const Dimension& dimension) {
  const std::string size = dimension.size ? fmt::to_string(dimension.size) : "*";
  if (dimension.size == 1) return fmt::format("  {:<12} {:>5}\n", dimension.name, size);
  std::string cost = fmt::format("{:.3g} us", dimension.link.latency * 1e6);
  if (dimension.link.seconds_per_byte > 0) {
    cost += fmt::format(", {:.3g} GB/s", 1e-9 / dimension.link.seconds_per_byte);
  }
  return fmt::format("  {:<12} {:>5}  {:<13}  {}\n", dimension.name, size,
                     dimension.mapped ? "shared memory" : "network", cost);
}

}  // namespace

std::string render(const Machine& machine) {
  std::string text = fmt::format("{}: {}\n", machine.name, machine.cpu_model);
  text += fmt::format("  processors    {}, {}, {}\n", counted(machine.sockets.size(), "socket"),
                      counted(static_cast<std::size_t>(machine.core_count()), "core"),
                      counted(static_cast<std::size_t>(machine.cpu_count()), "CPU"));
  text += fmt::format("  memory        {} in {}\n", gibibytes(machine.memory),
                      counted(machine.numa_nodes.size(), "NUMA node"));
  text += fmt::format("  caches        {}\n", cache_line(machine));
  text += fmt::format(
      "  may use       CPUs {}{}\n", format_list(machine.allowed_cpus),
      machine.cpu_quota > 0 ? fmt::format(", time of {:.3g} of them", machine.cpu_quota) : "");
  if (machine.accelerators.empty()) text += "  accelerators  none\n";
  for (std::size_t i = 0; i < machine.accelerators.size(); ++i) {
    text += fmt::format("  {:<12}  {}\n", i == 0 ? "accelerators" : "",
                        accelerator_line(machine.accelerators[i]));
  }
  return text;
}

std::string render(const Layout& layout) {
  if (layout.hosts.empty()) return "no ranks\n";
  std::size_t width = 0;
  for (const Host& host : layout.hosts) width = std::max(width, host.name.size());
  std::string text =
      fmt::format("{} on {}, {}\n", counted(static_cast<std::size_t>(layout.size()), "rank"),
                  counted(layout.hosts.size(), "host"), ranks_per_host_text(layout));
  for (const Host& host : layout.hosts) {
    text += fmt::format("  {:<{}}  {} {}\n", host.name, width,
                        host.ranks.size() == 1 ? "rank" : "ranks", format_list(host.ranks));
  }
  return text;
}

std::string render(const Grid& grid) {
  std::string text = fmt::format("{} = {}\n", shape_of(grid),
                                 counted(static_cast<std::size_t>(grid.size()), "rank"));
  for (const Dimension& dimension : grid.dimensions) text += dimension_line(dimension);
  return text;
}

}  // namespace tutti::topo
