#include "tutti/launch/job/root_cause.h"

#include <signal.h>

#include <algorithm>
#include <array>

namespace tutti::launch {
namespace {

constexpr std::int64_t kReactionNs = 500'000'000;

// Excludes SIGABRT, with which C++ programs end on an exception about a lost peer, and the signals with which launchers
// ask programs to end.
constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE,
                                 SIGKILL, SIGSYS, SIGXCPU, SIGXFSZ};

bool is_crash(const RankFailure& failure) {
  return failure.is_lost || std::ranges::find(kCrashes, failure.signal) != kCrashes.end();
}

}  // namespace

const RankFailure& root_cause(const std::vector<RankFailure>& failures) {
  const auto first = std::ranges::min_element(failures, {}, &RankFailure::when_ns);
  const RankFailure* crash = nullptr;
  for (const RankFailure& failure : failures) {
    if (!is_crash(failure) || failure.when_ns > first->when_ns + kReactionNs) continue;
    if (!crash || failure.when_ns < crash->when_ns) crash = &failure;
  }
  return crash ? *crash : *first;
}

}  // namespace tutti::launch
