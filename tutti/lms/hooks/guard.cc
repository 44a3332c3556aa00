#include "tutti/lms/hooks/guard.h"

#include <algorithm>

#include "tutti/core/error.h"
#include "tutti/lms/hooks/record_hooks.h"
#include "tutti/os/memory.h"

namespace tutti::lms {
namespace {

constexpr double kAutomaticFraction = 0.9;
constexpr std::int64_t kLeastAddressSpace = std::int64_t{256} << 30;
constexpr std::int64_t kMostAddressSpace = std::int64_t{16} << 40;

SessionOptions session_options(const GuardOptions& options) {
  SessionOptions session;
  session.pager.budget = options.budget > 0 ? options.budget : automatic_budget();
  // Enough for what memory and disk can hold; the kernel limits a process to 128 TiB.
  session.pager.address_space =
      std::clamp(64 * session.pager.budget, kLeastAddressSpace, kMostAddressSpace);
  session.pager.directory = options.swap_dir;
  session.pager.verifies = options.verifies;
  session.pager.faults = options.faults;
  session.planner = options.planner;
  session.planner.movable.with_persistent |= options.mode == Mode::kFull;
  // Not executed by this version.
  session.planner.recomputes = session.planner.prefers_recompute = session.planner.compacts = false;
  session.minimum_bytes = options.minimum_bytes;
  session.plans = options.plans;
  session.handles_faults = options.handles_faults;
  return session;
}

// Never destroyed: tensors may outlive the guard.
Session& new_session(const GuardOptions& options) {
  if (active_session())
    throw ConfigError("DDL-5-75",
                      "Large model support is enabled already. Destroy the other guard first.");
  auto* const session = new Session(session_options(options));
  return *session;
}

}  // namespace

std::int64_t automatic_budget(int ranks) {
  const auto free = static_cast<double>(os::free_memory().bytes());
  return static_cast<std::int64_t>(kAutomaticFraction * free / std::max(1, ranks));
}

Guard::Guard(const GuardOptions& options) : session_(new_session(options)) {
  activate(session_);
}

Guard::~Guard() {
  deactivate();
}

}  // namespace tutti::lms
