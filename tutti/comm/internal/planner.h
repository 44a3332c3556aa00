// The plans of one communicator: chosen once per kind and size, then kept.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "tutti/comm/operation.h"
#include "tutti/core/options.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::comm {

class Planner {
 public:
  // `grid` must outlive the planner.
  Planner(const topo::Grid& grid, int rank, const Options& options);

  // This rank's plan of the operation. The same on all ranks that pass agreeing operations.
  std::shared_ptr<const plan::Plan> plan_for(const Operation& operation);
  // An all_reduce is one direct step of the whole communicator, which the host group does without a
  // plan.
  bool reduces_on_host() const;
  std::string description() const;

 private:
  using Key =
      std::tuple<plan::Collective, std::int64_t, std::vector<std::int64_t>, int, std::size_t>;
  std::shared_ptr<const plan::Plan> build(const Operation& operation) const;

  const topo::Grid& grid_;
  const int rank_;
  const bool reproducible_;
  std::string mode_;
  std::map<Key, std::shared_ptr<const plan::Plan>> plans_;
};

}  // namespace tutti::comm
