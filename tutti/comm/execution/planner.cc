#include "tutti/comm/execution/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tutti/core/bytes.h"
#include "tutti/plan/build.h"

namespace tutti::comm {
namespace {

plan::Request request_of(const Operation& operation, bool reproducible) {
  return {.collective = operation.collective,
          .count = operation.count,
          .counts = operation.counts,
          .send_counts = operation.send_counts,
          .receive_counts = operation.receive_counts,
          .root = operation.root,
          .element_bytes = size_of(operation.dtype),
          .reproducible = reproducible};
}

}  // namespace

Planner::Planner(const topo::Grid& grid, int rank, const Options& options,
                 const VendorCollectives* vendor)
    : grid_(grid), rank_(rank), reproducible_(options.flag("reproducible")), vendor_(vendor) {
  override_.mode = plan::parse_mode(options.text("mode"));
  override_.lanes = static_cast<int>(options.integer("lanes"));
  if (const std::string& names = options.text("algorithm"); !names.empty()) {
    const plan::Mode wanted = plan::parse_mode(names);
    override_.mode.algorithms = wanted.algorithms;
    override_.mode.only_where_mapped = wanted.only_where_mapped;
  }
  // All dimensions, also size 1, are named once here, so that a mode that cannot be is an error at
  // the start.
  plan::choose(grid_, {.collective = plan::Collective::kAllReduce, .count = 1}, {}, override_);
}

// MPI knows neither f16 nor bf16: there the mode's wish gives way.
bool Planner::vendor_can(const Operation& operation) const {
  const auto& names = override_.mode.algorithms;
  if (std::find(names.begin(), names.end(), "vendor") == names.end()) return true;
  const ReduceOp op = operation.op == ReduceOp::kAverage ? ReduceOp::kSum : operation.op;
  return vendor_ && vendor_->supports(operation.collective, operation.dtype, op);
}

std::shared_ptr<const plan::Plan> Planner::plan_for(const Operation& chunk,
                                                    const Operation& whole) {
  if (!chunk.send_counts.empty()) return build(chunk, whole);
  if (plans_.size() >= kMaxPlans) plans_.clear();
  auto& plan = plans_[Key{chunk.collective, chunk.count, chunk.counts, whole.count, whole.counts,
                          chunk.root, size_of(chunk.dtype), vendor_can(chunk)}];
  if (!plan) plan = build(chunk, whole);
  return plan;
}

std::shared_ptr<const plan::Plan> Planner::build(const Operation& chunk,
                                                 const Operation& whole) const {
  const plan::Override& override = vendor_can(chunk) ? override_ : plan::Override{};
  const plan::Choice choice =
      plan::choose(grid_, request_of(whole, reproducible_), measured_, override);
  return std::make_shared<plan::Plan>(
      plan::build(grid_, request_of(chunk, reproducible_), choice, rank_));
}

plan::Choice Planner::all_reduce_choice(std::int64_t bytes) const {
  const plan::Request request{.collective = plan::Collective::kAllReduce,
                              .count = std::max<std::int64_t>(1, bytes / 4),
                              .reproducible = reproducible_};
  return plan::choose(grid_, request, measured_, override_);
}

bool Planner::has_choice() const {
  return override_.mode.algorithms.empty() && !reproducible_;
}

bool Planner::reduces_on_host() const {
  const plan::Choice choice = all_reduce_choice(1 << 20);
  return grid_.hosts.size() == 1 &&
         std::all_of(choice.algorithms.begin(), choice.algorithms.end(),
                     [](const std::string& name) { return name == "direct"; });
}

void Planner::set_measured(std::vector<plan::Measurement> measured) {
  measured_ = std::move(measured);
  plans_.clear();
}

std::string Planner::description() const {
  std::string text = fmt::format("dimensions {} (", topo::shape_of(grid_));
  for (const topo::Dimension& dimension : grid_.dimensions) {
    text +=
        fmt::format("{}{}{}", &dimension == &grid_.dimensions.front() ? "" : ", ", dimension.name,
                    dimension.mapped && dimension.size != 1 ? ": shared memory" : "");
  }
  text += ")\n";
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 16) {
    const plan::Choice choice = all_reduce_choice(bytes);
    text += fmt::format("all_reduce {:>7}: {}, {} lane{}; {}\n", format_bytes(bytes), choice.text(),
                        choice.lanes, choice.lanes == 1 ? "" : "s", choice.reason);
  }
  return text;
}

}  // namespace tutti::comm
