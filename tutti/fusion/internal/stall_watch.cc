#include "tutti/fusion/internal/stall_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "tutti/core/error.h"
#include "tutti/core/log.h"

namespace tutti::fusion {
namespace {

constexpr std::int64_t kInterval = 20'000'000;

std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 16;
  const std::vector<int> some(
      ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(std::min(ranks.size(), kMost)));
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(some, ", "),
                     ranks.size() > kMost ? fmt::format(" and {} more", ranks.size() - kMost) : "");
}

}  // namespace

bool StallWatch::is_due(std::int64_t now) {
  if (now < next_look_) return false;
  next_look_ = now + kInterval;
  return true;
}

// Ranks far from the root check first, so their reports have arrived when the root checks.
std::vector<DownMessage::Failure> StallWatch::look(std::int64_t now) {
  for (const Stall& stall :
       negotiator_.look_for_stalls(now, stall_ + stall_ / 8 * position_.height)) {
    log::warning("DDL-4-72 Tensor '{}' has been waiting for {:.1f} s: {} did not submit it.",
                 stall.name, stall.seconds, ranks_text(stall.missing));
  }
  std::vector<DownMessage::Failure> failures;
  if (position_.parent >= 0) return failures;
  for (const Stall& stall : negotiator_.overdue(now, timeout_)) {
    failures.push_back({stall.name, "DDL-4-73",
                        fmt::format("Tensor '{}' was not submitted by {} within {:.1f} s.",
                                    stall.name, ranks_text(stall.missing), stall.seconds),
                        true});
  }
  return failures;
}

void StallWatch::note_leaving(std::int64_t now) {
  if (leaving_since_ == 0) leaving_since_ = now;
}

void StallWatch::look_at_end(std::int64_t now) {
  if (leaving_since_ == 0) return;
  const std::int64_t waited = now - leaving_since_;
  const double seconds = 1e-9 * static_cast<double>(waited);
  if (has_timed_out_ && waited >= stall_) {
    throw TimeoutError("DDL-4-77", fmt::format("Rank {} has shut down its fusion engine, but not "
                                               "all others have within {:.1f} s. It stops waiting.",
                                               position_.rank, seconds));
  }
  if (waited < next_end_report_) return;
  next_end_report_ = 2 * waited;
  log::warning(
      "DDL-4-06 Waiting for {:.1f} s at the end of the fusion engine: not all ranks have shut it "
      "down.",
      seconds);
}

}  // namespace tutti::fusion
