// The plans of one communicator: chosen once per kind and size, then kept.
#pragma once

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

class Planner {
 public:
  // `grid` and `vendor` (may be absent) must outlive the planner. Throws ConfigError when the mode
  // cannot be.
  Planner(const topo::Grid& grid, int rank, const Options& options,
          const VendorCollectives* vendor);

  // This rank's plan of the operation. The same on all ranks that pass agreeing operations.
  std::shared_ptr<const plan::Plan> plan_for(const Operation& operation) {
    return plan_for(operation, operation);
  }
  // The plan of a chunk of `whole`, with the algorithms of the whole: the order of folds does not
  // depend on chunks.
  std::shared_ptr<const plan::Plan> plan_for(const Operation& chunk, const Operation& whole);
  // An all_reduce is one direct step of the whole communicator, which the host group does without a
  // plan.
  bool reduces_on_host() const;
  // Neither the mode nor reproducible folds say what to do.
  bool has_choice() const;
  // What mode p found out: decides from now on. All ranks must pass the same.
  void set_measured(std::vector<plan::Measurement> measured);
  // What would be done for an all_reduce of so many bytes of f32.
  plan::Choice all_reduce_choice(std::int64_t bytes) const;
  // The dimensions and the choice per size class, for people.
  std::string description() const;

 private:
  static constexpr std::size_t kMaxPlans = 4096;
  using Counts = std::vector<std::int64_t>;
  using Key = std::tuple<plan::Collective, std::int64_t, Counts, std::int64_t, Counts, int,
                         std::size_t, bool>;
  bool vendor_can(const Operation& operation) const;
  std::shared_ptr<const plan::Plan> build(const Operation& chunk, const Operation& whole) const;

  const topo::Grid& grid_;
  const int rank_;
  const bool reproducible_;
  const VendorCollectives* vendor_;
  plan::Override override_;
  std::vector<plan::Measurement> measured_;
  std::map<Key, std::shared_ptr<const plan::Plan>> plans_;
};

}  // namespace tutti::comm
