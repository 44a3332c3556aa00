// Alternating measurements of both backends.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/ddp/settings.h"
#include "bench/harness/interrupt.h"
#include "bench/harness/statistics.h"

namespace tutti::bench {

// A timed operation: an all_reduce ("reduce", memory, bytes) or a training step ("step", model, variant). Variants:
// "sync", "local" (without communication), or the compression between hosts.
struct DdpCase {
  std::string system, kind, subject, variant;
  auto operator<=>(const DdpCase&) const = default;
};

struct DdpOutcome {
  std::map<DdpCase, Summary> seconds;  // of the slowest rank
  std::vector<std::string> failures;
  // nullptr if the case was not measured. Valid as long as this object.
  const Summary* find(const DdpCase& which) const;
  // Seconds of a step minus those of the same step without communication, at least 0; -1 if not measured.
  double exposed(const std::string& system, const std::string& model,
                 const std::string& variant) const;
};

// The cases of one system with these settings.
std::vector<DdpCase> cases_of(const DdpSettings& settings, const std::string& system);

// Starts a group of processes per system and measures all cases in turns. A system that fails is listed in `failures`,
// and the others continue. Throws Interrupted on Ctrl-C.
DdpOutcome run_ddp_contest(const DdpSettings& settings, const InterruptScope& interrupt);

}  // namespace tutti::bench
