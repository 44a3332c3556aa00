#include "tutti/comm/internal/planner.h"

#include <utility>

#include "tutti/core/error.h"
#include "tutti/plan/build.h"

namespace tutti::comm {

Planner::Planner(const topo::Grid& grid, int rank, const Options& options)
    : grid_(grid),
      rank_(rank),
      reproducible_(options.flag("reproducible")),
      mode_(options.text("mode")) {}

std::shared_ptr<const plan::Plan> Planner::plan_for(const Operation& operation) {
  if (!operation.send_counts.empty()) return build(operation);
  Key key{operation.collective, operation.count, operation.counts, operation.root,
          size_of(operation.dtype)};
  auto& plan = plans_[key];
  if (!plan) plan = build(operation);
  return plan;
}

std::shared_ptr<const plan::Plan> Planner::build(const Operation& operation) const {
  plan::Request request{.collective = operation.collective,
                        .count = operation.count,
                        .counts = operation.counts,
                        .send_counts = operation.send_counts,
                        .receive_counts = operation.receive_counts,
                        .root = operation.root,
                        .element_bytes = size_of(operation.dtype),
                        .reproducible = reproducible_};
  std::vector<std::vector<std::string>> tries = {
      {"direct", "halving_doubling"}, {"direct", "ring"}, {"direct", "knomial"}, {"direct"},
      {"direct", "pairwise"},         {"ring"},           {"knomial"},           {"pairwise"},
      {"direct", "dissemination"},    {"dissemination"}};
  if (mode_[0] == 'r') tries.insert(tries.begin(), {"ring"});
  if (mode_[0] == 'c') tries.insert(tries.begin(), {"halving_doubling"});
  std::string last;
  for (auto& names : tries) {
    try {
      plan::Choice choice{.algorithms = names, .lanes = 3};
      return std::make_shared<plan::Plan>(plan::build(grid_, request, choice, rank_));
    } catch (const ConfigError& e) {
      last = e.what();
    }
  }
  throw ConfigError("DDL-4-99", std::string(plan::name_of(operation.collective)) + last);
}
bool Planner::reduces_on_host() const {
  return grid_.hosts.size() == 1 && mode_[0] == 'p';
}
std::string Planner::description() const {
  return mode_;
}

}  // namespace tutti::comm
