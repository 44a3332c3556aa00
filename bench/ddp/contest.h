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

// A timed operation: an all_reduce ("reduce", memory, bytes) or a training step ("step", model, way).
struct DdpCase {
  std::string system, kind, subject, variant;
  auto operator<=>(const DdpCase&) const = default;
};

struct DdpOutcome {
  std::map<DdpCase, Summary> seconds;  // of the slowest rank
  std::vector<std::string> failures;
  // nullptr if it was not measured.
  const Summary* find(const DdpCase& which) const;
  // Step time minus that of the same step without communication, at least 0; -1 if not measured.
  double exposed(const std::string& system, const std::string& model, const std::string& way) const;
};

// The cases of one system with these settings.
std::vector<DdpCase> cases_of(const DdpSettings& settings, const std::string& system);

DdpOutcome run_ddp_contest(const DdpSettings& settings, const InterruptScope& interrupt);

}  // namespace tutti::bench
