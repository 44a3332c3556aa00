#include "tutti/comm/execution/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tutti/core/bytes.h"
#include "tutti/plan/build.h"
#include "tutti/plan/candidates.h"

// A plan is found in three steps, each slower than the one before: in a table of eight recent operations, by hash and
// without a search; in the cache of plans; by choosing algorithms (plan::choose) and building the steps (plan::build).
// The result depends only on the arguments of the operation and on data that all ranks share: grid, options and
// measurements. Ranks therefore select matching plans without communication. A change of the measurements clears both
// caches. The cache is also cleared when it is full.
namespace tutti::comm {

plan::Mode mode_of(const Options& options) {
  plan::Mode mode = plan::parse_mode(options.text("mode"));
  if (const std::string& names = options.text("algorithm"); !names.empty()) {
    const plan::Mode wanted = plan::parse_mode(names);
    mode.algorithms = wanted.algorithms;
    mode.only_where_mapped = wanted.only_where_mapped;
  }
  return mode;
}

Planner::Planner(const topo::Grid& grid, int rank, const Options& options, const plan::Mode& mode,
                 const VendorCollectives* vendor)
    : grid_(grid),
      rank_(rank),
      reproducible_(options.flag("reproducible")),
      vendor_(vendor),
      override_{.mode = mode, .lanes = static_cast<int>(options.integer("lanes"))},
      eager_bytes_(static_cast<std::size_t>(options.integer("eager_bytes"))) {
  // Validates the mode for all dimensions, including those of size 1, so an invalid mode is reported at the start.
  plan::choose(grid_, {.collective = plan::Collective::kAllReduce, .count = 1}, {}, override_);
}

plan::Request Planner::request_of(const Operation& operation) const {
  return {.collective = operation.collective,
          .count = operation.count,
          .counts = operation.counts,
          .send_counts = operation.send_counts,
          .receive_counts = operation.receive_counts,
          .root = operation.root,
          .element_bytes = size_of(operation.dtype),
          .reproducible = reproducible_,
          .eager_bytes = eager_bytes_};
}

plan::Request Planner::all_reduce_of(std::int64_t bytes) const {
  return request_of({.count = std::max<std::int64_t>(1, bytes / 4)});
}

// MPI has neither f16 nor bf16, so these types ignore mode m.
bool Planner::vendor_can(const Operation& operation) const {
  const auto& names = override_.mode.algorithms;
  if (std::find(names.begin(), names.end(), "vendor") == names.end()) return true;
  const ReduceOp op = operation.op == ReduceOp::kAverage ? ReduceOp::kSum : operation.op;
  return vendor_ && vendor_->supports(operation.collective, operation.dtype, op);
}

const plan::Plan& Planner::plan_for(const Operation& chunk, const Operation& whole) {
  if (!chunk.send_counts.empty()) return *(last_ = build(chunk, whole));
  if (plans_.size() >= kMaxPlans) plans_.clear();
  auto& plan = plans_[Key{chunk.collective, chunk.count, chunk.counts, whole.count, whole.counts,
                          chunk.root, size_of(chunk.dtype), vendor_can(chunk)}];
  if (!plan) plan = build(chunk, whole);
  if (&chunk == &whole && chunk.counts.empty()) {
    recent_[Recent::slot_of(chunk)] = {chunk.collective, chunk.dtype, chunk.op,
                                       chunk.root,       chunk.count, plan};
  }
  return *(last_ = plan);
}

std::shared_ptr<const plan::Plan> Planner::build(const Operation& chunk,
                                                 const Operation& whole) const {
  const plan::Override& override = vendor_can(chunk) ? override_ : plan::Override{};
  const plan::Choice choice = plan::choose(grid_, request_of(whole), measured_, override);
  return std::make_shared<plan::Plan>(plan::build(grid_, request_of(chunk), choice, rank_));
}

plan::Choice Planner::all_reduce_choice(std::int64_t bytes) const {
  return plan::choose(grid_, all_reduce_of(bytes), measured_, override_);
}

std::vector<plan::Choice> Planner::all_reduce_candidates(std::int64_t bytes) const {
  return plan::candidates(grid_, all_reduce_of(bytes));
}

bool Planner::has_choice() const {
  return override_.mode.algorithms.empty() && !reproducible_;
}

void Planner::set_measured(std::vector<plan::Measurement> measured) {
  measured_ = std::move(measured);
  forget();
}

void Planner::set_eager_bytes(std::int64_t bytes) {
  eager_bytes_ = static_cast<std::size_t>(bytes);
  forget();
}

void Planner::forget() {
  plans_.clear();
  recent_ = {};
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
