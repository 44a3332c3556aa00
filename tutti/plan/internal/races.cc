#include "tutti/plan/internal/races.h"

#include <algorithm>

#include <fmt/format.h>

namespace tutti::plan::internal {
namespace {

bool is_before(const Access& a, const Access& b) {
  return (*b.known)[a.thread] > a.step + 1;
}

bool conflict(const Access& a, const Access& b) {
  if (a.thread == b.thread || !(a.is_write || b.is_write)) return false;
  return !is_before(a, b) && !is_before(b, a);
}

std::string describe(const Access& access, int lanes) {
  return fmt::format("rank {} lane {} step {} {} [{}, {})", access.thread / lanes,
                     access.thread % lanes, access.step, access.is_write ? "writes" : "reads",
                     access.begin, access.end);
}

}  // namespace

std::string RaceDetector::find(int lanes) const {
  std::vector<const Access*> sorted;
  for (const Access& access : accesses_) sorted.push_back(&access);
  std::sort(sorted.begin(), sorted.end(), [](const Access* a, const Access* b) {
    return std::pair(a->memory, a->begin) < std::pair(b->memory, b->begin);
  });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Access& a = *sorted[i];
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      const Access& b = *sorted[j];
      if (b.memory != a.memory || b.begin >= a.end) break;
      if (!conflict(a, b)) continue;
      return fmt::format("race on the memory of rank {}: {}, {}", a.memory, describe(a, lanes),
                         describe(b, lanes));
    }
  }
  return "";
}

}  // namespace tutti::plan::internal
