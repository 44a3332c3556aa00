// The option rebind_iter: a rank that is always last may sit on a processor that others use too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/comm/internal/statistics.h"

namespace tutti::comm {

// Processor time since the start of the machine, in ticks.
struct CpuTime {
  std::int64_t busy = 0;
  std::int64_t total = 0;
};
using CpuTimes = std::map<int, CpuTime>;  // by number of the processing unit

// From the text of /proc/stat.
CpuTimes parse_cpu_times(std::string_view text);

// The processing unit that worked least between the two, among those that `is_candidate` allows;
// its share of the time in `busy`.
std::optional<int> least_busy(const CpuTimes& before, const CpuTimes& now,
                              const std::function<bool(int)>& is_candidate, double* busy);

// Decides alike on every rank; the rank it is about acts, and says what it did.
class Rebinder {
 public:
  static constexpr int kChecks = 3;
  // Later than this part of the mean time of an operation is late.
  static constexpr double kTolerance = 0.1;

  explicit Rebinder(int rank);
  // After each check. True when this rank was the last kChecks times in a row and has been moved.
  bool look(const Summary& summary);

 private:
  void widen(const Summary& summary);

  const int rank_;
  int suspect_ = -1;
  int times_ = 0;
  CpuTimes before_;
};

}  // namespace tutti::comm
