#include "bench/harness/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "tutti/core/bytes.h"
#include "tutti/os/cpus.h"
#include "tutti/os/text_file.h"

namespace tutti::bench {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n";
  std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Calls visit(key, value) for each line "key : value".
template <class Visit>
void for_each_pair(std::string_view text, Visit visit) {
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    visit(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
}

bool has_word(std::string_view words, std::string_view word) {
  std::istringstream stream{std::string(words)};
  for (std::string each; stream >> each;)
    if (each == word) return true;
  return false;
}

std::string widest_simd(std::string_view flags) {
  if (has_word(flags, "avx512f")) return "avx512";
  if (has_word(flags, "avx2")) return "avx2";
  if (has_word(flags, "sse2")) return "sse2";
  if (has_word(flags, "asimd")) return "neon";
  return "";
}

// Parses "2048K", as the kernel writes it.
std::int64_t cache_bytes(int index) {
  std::string text =
      os::read_text(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
  return text.empty() ? 0 : std::strtoll(text.c_str(), nullptr, 10) * 1024;
}

}  // namespace

Machine parse_machine(std::string_view cpuinfo, std::string_view meminfo) {
  Machine machine;
  std::set<std::string, std::less<>> sockets;
  for_each_pair(cpuinfo, [&](std::string_view key, std::string_view value) {
    if (key == "model name") machine.cpu = value;
    if (key == "physical id") sockets.emplace(value);
    if (key == "flags" || key == "Features") {
      machine.simd = widest_simd(value);
      machine.virtual_machine = has_word(value, "hypervisor");
    }
  });
  for_each_pair(meminfo, [&](std::string_view key, std::string_view value) {
    if (key == "MemTotal")
      machine.memory_bytes = std::strtoll(std::string(value).c_str(), nullptr, 10) * 1024;
  });
  machine.sockets = std::max(1, static_cast<int>(sockets.size()));
  return machine;
}

Machine describe_machine() {
  Machine machine = parse_machine(os::read_text("/proc/cpuinfo"), os::read_text("/proc/meminfo"));
  machine.cores = os::allowed_cpu_count();
  machine.l2_bytes = cache_bytes(2);
  machine.l3_bytes = cache_bytes(3);
  utsname system{};
  if (uname(&system) == 0) machine.kernel = fmt::format("{} {}", system.sysname, system.release);
  if (double loads[1]; getloadavg(loads, 1) == 1) machine.load = loads[0];
  return machine;
}

bool is_busy(const Machine& machine) {
  return machine.load > 0.5 * machine.cores;
}

std::string one_line(const Machine& machine) {
  std::string text = machine.cpu.empty() ? "unknown CPU" : machine.cpu;
  text += fmt::format(", {} core{}", machine.cores, machine.cores == 1 ? "" : "s");
  if (machine.sockets > 1) text += fmt::format(" on {} sockets", machine.sockets);
  if (!machine.simd.empty()) text += ", " + machine.simd;
  if (machine.l2_bytes) text += ", L2 " + format_bytes(machine.l2_bytes);
  if (machine.l3_bytes) text += ", L3 " + format_bytes(machine.l3_bytes);
  text += fmt::format(", {:.0f} GiB", static_cast<double>(machine.memory_bytes) / 0x1p30);
  if (machine.virtual_machine) text += ", virtual machine";
  if (!machine.kernel.empty()) text += ", " + machine.kernel;
  return text;
}

std::string heading(const Machine& machine) {
  std::string text = one_line(machine) + "\n";
  if (is_busy(machine))
    text += fmt::format(
        "The machine was busy before the start (load {:.1f}): times are not reliable.\n",
        machine.load);
  return text;
}

}  // namespace tutti::bench
