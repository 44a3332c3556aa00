// Report on a planned step: prediction and advice as text and JSON, and memory over time as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/lms/plan.h"
#include "tutti/lms/planner_options.h"
#include "tutti/lms/simulator.h"
#include "tutti/lms/trace.h"

namespace tutti::lms {

struct Report {
  std::int64_t budget = 0;
  std::int64_t peak_without = 0;    // resident bytes without LMS
  Requirement minimum;              // the smallest budget and the operator that determines it
  std::string minimum_operator;     // its name
  double seconds_without = 0;       // duration of the recorded step
  Simulation predicted;             // under the plan, with the memory curve
  std::vector<Sample> without;      // memory curve without LMS
  int swapped = 0, recomputed = 0;  // decisions
  // Overhead as a fraction of seconds_without.
  double overhead() const {
    return seconds_without > 0 ? predicted.seconds / seconds_without - 1 : 0;
  }
  // Additional memory that reduces the overhead below 1 %, rounded up to 1 MiB; 0: none is needed.
  std::int64_t more_memory = 0;
  // Bandwidth of the lower tier that reduces the overhead below 1 %, as a multiple of the current one; 0: none is
  // needed, or no bandwidth suffices.
  double more_bandwidth = 0;
  Tier tier;
};

// Simulates the plan, and plans for other budgets and bandwidths to find the advice.
Report make_report(const Trace& trace, const Plan& plan, const PlannerOptions& options);

// Advice, one sentence each, the most important first: "Disk-bound by 23 %: 512 MiB more memory would remove it."
std::vector<std::string> advice(const Report& report);
std::string to_text(const Report& report);
std::string to_json(const Report& report);
// Resident bytes over time with and without LMS, and the budget.
std::string to_svg(const Report& report, const std::string& title);

}  // namespace tutti::lms
