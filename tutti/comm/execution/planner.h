// Plans of one communicator: selected once per collective and size, then cached.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/transport/vendor.h"
#include "tutti/core/options.h"
#include "tutti/plan/choose.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::comm {

// Parses the options `mode` and `algorithm`. Throws ConfigError if they are invalid.
plan::Mode mode_of(const Options& options);

class Planner {
 public:
  // `grid` and `vendor` (may be nullptr) must outlive the planner. Throws ConfigError if the mode does not fit the
  // grid.
  Planner(const topo::Grid& grid, int rank, const Options& options, const plan::Mode& mode,
          const VendorCollectives* vendor);

  // This rank's plan of the operation, valid until the next call. Matches the plans of all ranks that pass the same
  // operation.
  const plan::Plan& plan_for(const Operation& operation) {
    const Recent& recent = recent_[Recent::slot_of(operation)];
    if (recent.plan && recent.is_for(operation)) [[likely]]
      return *recent.plan;
    return plan_for(operation, operation);
  }
  // The plan of a chunk of `whole`, with the algorithms selected for the whole, so the order of reductions does not
  // depend on chunks.
  const plan::Plan& plan_for(const Operation& chunk, const Operation& whole);
  // True if neither the mode nor reproducible reductions determine the algorithm.
  bool has_choice() const;
  // Sets the measurements of mode p, which determine the selection from now on. All ranks must pass the same.
  void set_measured(std::vector<plan::Measurement> measured);
  // Sets the largest vector that one host reduces with host_eager. All ranks must pass the same.
  void set_eager_bytes(std::int64_t bytes);
  // The choice for an all_reduce of `bytes` bytes of f32.
  plan::Choice all_reduce_choice(std::int64_t bytes) const;
  // Choices for it that are worth measuring, cheapest by the cost model first.
  std::vector<plan::Choice> all_reduce_candidates(std::int64_t bytes) const;
  // The dimensions and the choice per size class, human-readable.
  std::string description() const;

 private:
  static constexpr std::size_t kMaxPlans = 4096;
  using Counts = std::vector<std::int64_t>;
  using Key = std::tuple<plan::Collective, std::int64_t, Counts, std::int64_t, Counts, int,
                         std::size_t, bool>;
  // The last plan of each slot, found without a search, which would take as long as reducing a small vector. Not used
  // for operations with counts.
  struct Recent {
    plan::Collective collective{};
    DType dtype{};
    ReduceOp op{};
    int root = 0;
    std::int64_t count = 0;
    std::shared_ptr<const plan::Plan> plan = nullptr;

    static std::size_t slot_of(const Operation& operation) {
      return static_cast<std::uint64_t>(operation.count) * 0x9e3779b97f4a7c15ULL >> 61;
    }
    bool is_for(const Operation& operation) const {
      return operation.count == count && operation.collective == collective &&
             operation.dtype == dtype && operation.op == op && operation.root == root &&
             operation.counts.empty() && operation.send_counts.empty();
    }
  };
  void forget();
  bool vendor_can(const Operation& operation) const;
  plan::Request request_of(const Operation& operation) const;
  plan::Request all_reduce_of(std::int64_t bytes) const;
  std::shared_ptr<const plan::Plan> build(const Operation& chunk, const Operation& whole) const;

  const topo::Grid& grid_;
  const int rank_;
  const bool reproducible_;
  const VendorCollectives* vendor_;
  plan::Override override_;
  std::vector<plan::Measurement> measured_;
  std::size_t eager_bytes_;
  std::map<Key, std::shared_ptr<const plan::Plan>> plans_;
  std::array<Recent, 8> recent_;
  std::shared_ptr<const plan::Plan> last_;  // the last plan returned, even if `plans_` is full
};

}  // namespace tutti::comm
