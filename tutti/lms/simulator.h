// Simulator: predicts memory and time of a step under a plan and a budget.
//
// It replays a trace in virtual time and models the runtime: transfers of a plan at operator boundaries, in FIFO order
// per direction; allocations that wait for writes in flight; and the passive path for everything else (eviction of the
// block with the farthest next use, and a synchronous read at the first use). The planner evaluates plans with it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tutti/lms/plan.h"
#include "tutti/lms/trace.h"

namespace tutti::lms {

// Transfers between memory and the lower tier. A transfer of n bytes takes latency + n / bandwidth seconds.
struct Tier {
  double write_bandwidth = std::numeric_limits<double>::infinity();  // bytes per second
  double read_bandwidth = std::numeric_limits<double>::infinity();   // bytes per second
  double latency = 0;                                                // seconds per transfer
  bool is_duplex = true;            // reads and writes do not share the bandwidth
  double cpu_seconds_per_byte = 0;  // time that a transfer takes from the computation
  // Bytes of decoded content per second. Codecs run on the thread that computes.
  double encode_bandwidth = std::numeric_limits<double>::infinity();
  double decode_bandwidth = std::numeric_limits<double>::infinity();

  double write_seconds(std::int64_t bytes) const {
    return latency + static_cast<double>(bytes) / write_bandwidth;
  }
  double read_seconds(std::int64_t bytes) const {
    return latency + static_cast<double>(bytes) / read_bandwidth;
  }
};

// Blocks that may leave memory. All others are resident as long as they exist.
struct MovableBlocks {
  bool with_persistent = false;    // also parameters, gradients and optimizer state
  std::int64_t minimum_bytes = 0;  // of a block

  bool contains(const Block& block) const {
    return (with_persistent || !block.is_persistent) && block.bytes >= minimum_bytes;
  }
};

// Size of a block on the lower tier.
std::int64_t stored_size(const Block& block, Codec codec);

// Smallest budget with which the step can run, and the operator that determines it (-1: the step has no operators).
struct Requirement {
  std::int64_t bytes = 0;
  int op = -1;
  std::int64_t working_set = 0;  // blocks of that operator, workspace included
};

// The budget must hold the blocks of each operator while it runs, and all blocks that may not move.
Requirement minimum_budget(const Trace& trace, const MovableBlocks& movable);

// Peak of resident bytes without LMS, operator workspace included.
std::int64_t peak_bytes(const Trace& trace);

struct SimulatorOptions {
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  Tier tier = {};
  MovableBlocks movable = {};
  bool records_curve = false;  // fill Simulation::resident
};

// Resident bytes from `seconds` on.
struct Sample {
  double seconds = 0;
  std::int64_t bytes = 0;
};

enum class StallKind { kWrite, kRead };

// Time that operator `op` waited: for a write, to free memory; for the read of `block`, to use it.
struct Stall {
  StallKind kind = StallKind::kWrite;
  int op = 0;
  int block = -1;  // kRead only
  double seconds = 0;
};

struct Simulation {
  // The budget is at least the minimum. If false, resident bytes exceed the budget at operator `infeasible_op`.
  bool is_feasible = true;
  int infeasible_op = -1;
  std::int64_t peak = 0;    // largest number of resident bytes, operator workspace included
  double seconds = 0;       // duration of the step
  double write_stall = 0;   // seconds
  double read_stall = 0;    // seconds
  double recompute = 0;     // seconds
  double transfer_cpu = 0;  // seconds of CPU time for transfers and codecs
  std::int64_t written = 0, read = 0;  // bytes
  int unplanned_writes = 0, unplanned_reads = 0;
  std::vector<Stall> stalls = {};     // in order
  std::vector<Sample> resident = {};  // in order; empty unless requested
};

// The trace and the plan must be valid. If the plan moves persistent blocks across steps, the result describes the
// second of two consecutive steps.
Simulation simulate(const Trace& trace, const Plan& plan, const SimulatorOptions& options);

}  // namespace tutti::lms
