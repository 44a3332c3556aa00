#include "tutti/comm/internal/rebinder.h"

#include <fmt/format.h>
#include <sched.h>

#include <charconv>
#include <filesystem>
#include <sstream>
#include <vector>

#include "tutti/core/log.h"
#include "tutti/os/cpus.h"
#include "tutti/os/text_file.h"

namespace tutti::comm {
namespace {

CpuTimes cpu_times() {
  return parse_cpu_times(os::read_text("/proc/stat"));
}

// CPUs that the cpuset of this process allows, whatever it is bound to now.
cpu_set_t bindable_cpus() {
  const cpu_set_t bound = os::affinity_of();
  if (!os::set_affinity(os::any_cpu())) return bound;
  const cpu_set_t allowed = os::affinity_of();
  os::set_affinity(bound);
  return allowed;
}

// Threads that somebody has bound otherwise than this one stay where they are.
void widen_threads(const cpu_set_t& bound, const cpu_set_t& wider) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const pid_t thread = std::atoi(entry.path().filename().c_str());
    const cpu_set_t now = os::affinity_of(thread);
    if (CPU_EQUAL(&now, &bound)) os::set_affinity(wider, thread);
  }
}

}  // namespace

CpuTimes parse_cpu_times(std::string_view text) {
  CpuTimes times;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    int cpu = -1;
    if (name.size() < 4 || name.compare(0, 3, "cpu") != 0) continue;
    std::from_chars(name.data() + 3, name.data() + name.size(), cpu);
    if (cpu < 0) continue;
    // user nice system idle iowait irq softirq steal; guest time is in user's already.
    CpuTime& time = times[cpu];
    std::int64_t ticks = 0;
    for (int field = 0; field < 8 && words >> ticks; ++field) {
      time.total += ticks;
      if (field != 3 && field != 4) time.busy += ticks;
    }
  }
  return times;
}

std::optional<int> least_busy(const CpuTimes& before, const CpuTimes& now,
                              const std::function<bool(int)>& is_candidate, double* busy) {
  std::optional<int> best;
  for (const auto& [cpu, time] : now) {
    const auto then = before.find(cpu);
    if (then == before.end() || !is_candidate(cpu)) continue;
    const std::int64_t total = time.total - then->second.total;
    if (total <= 0) continue;
    const double share =
        static_cast<double>(time.busy - then->second.busy) / static_cast<double>(total);
    if (best && share >= *busy) continue;
    best = cpu;
    *busy = share;
  }
  return best;
}

Rebinder::Rebinder(int rank) : rank_(rank), before_(cpu_times()) {}

bool Rebinder::look(const Summary& summary) {
  const bool is_late = summary.lateness > kTolerance * summary.mean;
  const int last = is_late ? summary.last_rank : -1;
  times_ = last >= 0 && last == suspect_ ? times_ + 1 : 1;
  suspect_ = last;
  const bool is_mine = last == rank_ && times_ >= kChecks;
  if (times_ >= kChecks) suspect_ = -1;  // it gets three checks to show that it helped
  if (is_mine) widen(summary);
  if (last != rank_) before_ = cpu_times();
  return is_mine;
}

void Rebinder::widen(const Summary& summary) {
  const std::string story = fmt::format("rank {} was the last in {} checks in a row, by {:.1f} us",
                                        rank_, kChecks, 1e6 * summary.lateness);
  const cpu_set_t allowed = bindable_cpus();
  const cpu_set_t bound = os::affinity_of();
  double busy = 0;
  const auto cpu = least_busy(
      before_, cpu_times(),
      [&](int c) { return c < CPU_SETSIZE && CPU_ISSET(c, &allowed) && !CPU_ISSET(c, &bound); },
      &busy);
  if (!cpu) {
    log::info("{}; it uses all processors that it may, so it stays as it is", story);
    return;
  }
  cpu_set_t wider = bound;
  CPU_SET(*cpu, &wider);
  widen_threads(bound, wider);
  log::info("{}; it may now also use processor {}, the least busy ({:.0f} %)", story, *cpu,
            100 * busy);
}

}  // namespace tutti::comm
