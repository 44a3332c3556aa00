// Large model support for libtorch: while a Guard exists, training steps run within a memory budget.
//
//   const lms::Guard guard({.budget = std::int64_t{2} << 30});
//   for (...) { loss = network->forward(x); loss.backward(); optimizer.step(); }
//
// While the guard exists, CPU tensors of at least 256 KiB are allocated by a pager. Their resident bytes never exceed
// the budget: tensors that no running operator uses are moved to an unnamed file and read back before they are used.
// Results are bitwise identical. During the first steps tensors move only when memory is short (passive mode); later
// steps follow a plan. Tensors that were created before the guard are not managed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tutti/lms/hooks/session.h"
#include "tutti/lms/options.h"

namespace tutti::lms {

struct GuardOptions {
  std::int64_t budget = 0;              // bytes; 0: automatic_budget()
  std::filesystem::path swap_dir = {};  // empty: TUTTI_LMS_DIR, else TMPDIR, else /var/tmp
  Mode mode = Mode::kAuto;  // kFull: plans also move parameters, gradients and optimizer state
  std::int64_t minimum_bytes = 256 << 10;  // smaller tensors are not managed
  // Operators on larger tensors run in tiles of about this size; 0: untiled. Results then differ by rounding from those
  // of untiled operators, but do not depend on the budget. Disables recomputation.
  std::int64_t tile_bytes = 0;
  std::int64_t segment_bytes =
      0;  // with tiling: size of the parts of tensors that move independently; 0: by the size of tiles
  bool plans = true;           // false: always passive
  bool handles_faults = true;  // page in tensors that code outside of operators accesses
  PlannerOptions planner = {};
  std::filesystem::path plot =
      {};                 // SVG file that the guard writes when it is destroyed; empty: none
  bool verifies = false;  // verify checksums of blocks that are read back
  io::FaultInjector faults = {};  // tests only
};

// Converts the values of lms_options(). A budget in bytes is divided among `ranks` processes of the host.
GuardOptions guard_options(const Options& options, int ranks = 1);

// Returns 90 % of the memory that is available to this process (cgroup and address-space limits included), divided
// among `ranks` processes of the host.
std::int64_t automatic_budget(int ranks = 1);

// Enables large model support for the process. Throws ConfigError (DDL-5-75) if it is enabled already, and as Pager.
class Guard {
 public:
  explicit Guard(const GuardOptions& options);
  // Lifts the budget, makes the managed tensors resident if they fit into memory, and stops managing new ones.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  SessionStatistics statistics() const { return session_.statistics(); }
  std::int64_t budget() const { return session_.statistics().budget; }
  // Changes the budget. Throws as Pager::set_budget. Only the thread that created the guard may call it.
  void set_budget(std::int64_t bytes) { session_.set_budget(bytes); }
  // The last complete step and its plan; the plan has no decisions if the step was passive.
  Trace trace() const { return session_.trace(); }
  Plan plan() const { return session_.plan(); }
  // Counters, and the prediction and advice for the last complete step: human-readable, and as JSON.
  std::string report() const;
  std::string report_json() const;
  // Predicted memory over time of the last complete step, with and without LMS. Throws ConfigError (DDL-5-77) before
  // the first complete step.
  std::string report_svg() const;

 private:
  void write_plot() const;

  Session& session_;
  const std::filesystem::path plot_;
};

}  // namespace tutti::lms
