#include "tutti/plan/build.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/plan/algorithms/multi_dimensional.h"
#include "tutti/plan/builder.h"
#include "tutti/plan/layout.h"

namespace tutti::plan {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter ||
         collective == Collective::kSendReceive;
}

void check_counts(const std::vector<std::int64_t>& counts, const char* what, int ranks) {
  if (static_cast<int>(counts.size()) == ranks &&
      std::all_of(counts.begin(), counts.end(), [](std::int64_t c) { return c >= 0; })) {
    return;
  }
  throw ConfigError("DDL-1-26", fmt::format("{} has {} entries for {} ranks, or a negative one. "
                                            "Pass one count, 0 or more, for each rank.",
                                            what, counts.size(), ranks));
}

void check_rank(int rank, const char* what, int ranks) {
  if (rank >= 0 && rank < ranks) return;
  throw ConfigError("DDL-1-27",
                    fmt::format("The {} {} does not exist. Use 0 to {}.", what, rank, ranks - 1));
}

void check(const Request& request, int ranks) {
  const Collective collective = request.collective;
  if (has_root(collective)) check_rank(request.root, "root", ranks);
  if (collective == Collective::kSendReceive) check_rank(request.peer, "peer", ranks);
  if (request.count < 0) {
    throw ConfigError("DDL-1-26", fmt::format("The count is {}. Use 0 or more.", request.count));
  }
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kScatter: return check_counts(request.counts, "counts", ranks);
    case Collective::kAllToAll:
      if (request.send_counts.empty()) return;
      check_counts(request.send_counts, "send_counts", ranks);
      return check_counts(request.receive_counts, "receive_counts", ranks);
    default: return;
  }
}

void set_counts(Plan& plan, const Request& request) {
  const bool is_root = plan.rank == request.root;
  const auto set = [&](std::int64_t input, std::int64_t output) {
    plan.input_count = input;
    plan.output_count = output;
  };
  const std::int64_t count = request.count;
  const auto mine = [&] { return request.counts[plan.rank]; };
  switch (request.collective) {
    case Collective::kAllReduce: return set(count, count);
    case Collective::kBroadcast: return set(is_root ? count : 0, count);
    case Collective::kReduce: return set(count, is_root ? count : 0);
    case Collective::kReduceScatter: return set(sum(request.counts), mine());
    case Collective::kAllGather: return set(mine(), sum(request.counts));
    case Collective::kGather: return set(mine(), is_root ? sum(request.counts) : 0);
    case Collective::kScatter: return set(is_root ? sum(request.counts) : 0, mine());
    case Collective::kAllToAll:
      if (request.send_counts.empty()) return set(count * plan.ranks, count * plan.ranks);
      return set(sum(request.send_counts), sum(request.receive_counts));
    case Collective::kSendReceive:
      return set(is_root ? count : 0, plan.rank == request.peer ? count : 0);
    case Collective::kBarrier: return;
  }
}

int index_of(const Subgroup& subgroup, int rank) {
  return static_cast<int>(std::find(subgroup.ranks.begin(), subgroup.ranks.end(), rank) -
                          subgroup.ranks.begin());
}

void build_whole_lane(const LaneTask& task) {
  const Subgroup subgroup = task.layout.block_subgroup();
  const int root = has_root(task.request.collective) ? index_of(subgroup, task.request.root) : 0;
  task.layout.whole_row()->build(task.builder, {task.request.collective, subgroup, task.request,
                                                task.range, nullptr, root, true});
}

// gather, scatter, all_to_all and send_receive: one subgroup over all ranks.
void build_flat_lane(const LaneTask& task) {
  const Axis& axis = task.layout.axes().back();
  const Subgroup subgroup = task.layout.subgroup(axis);
  const int root = has_root(task.request.collective) ? index_of(subgroup, task.request.root) : 0;
  axis.algorithm->build(task.builder,
                        {task.request.collective, subgroup, task.request, {}, nullptr, root, true});
}

void build_lane(const LaneTask& task) {
  if (task.layout.block_count() == 1) return build_whole_lane(task);
  switch (task.request.collective) {
    case Collective::kAllReduce: return all_reduce_lane(task);
    case Collective::kBroadcast: return broadcast_lane(task);
    case Collective::kReduce: return reduce_lane(task);
    case Collective::kBarrier: return barrier_lane(task);
    case Collective::kReduceScatter: return reduce_scatter_lane(task);
    case Collective::kAllGather: return all_gather_lane(task);
    default: return build_flat_lane(task);
  }
}

// Sets the input and output of the lane that covers `range` of the vector.
void begin_vector_lane(Builder& builder, const Plan& plan, const Range& range) {
  builder.begin_lane(plan.input_count > 0 ? range : Range{},
                     plan.output_count > 0 ? range : Range{});
}

void build_lanes(Plan& plan, const topo::Grid& grid, const Request& request, const Choice& choice) {
  const Layout layout(grid, request, choice, plan.rank);
  Builder builder(plan);
  LaneTask task{builder, layout, request, plan.rank, -1, {}};
  if (layout.my_block().size() > 1) {
    plan.groups = layout.groups();
    task.group = builder.group_of(layout.block_subgroup().ranks);
  }
  // Reserve a scratch copy of the vector; peers read the partial results from it.
  const bool reduces_in_scratch =
      request.collective == Collective::kReduce || request.collective == Collective::kReduceScatter;
  if (reduces_in_scratch && layout.block_count() > 1) builder.scratch(plan.input_count);
  if (!is_on_vector(request.collective)) {
    const bool is_empty = plan.input_count == 0 && sum(request.counts) == 0;
    if (is_empty && plan.output_count == 0 && request.collective != Collective::kBarrier) return;
    builder.begin_lane({Space::kInput, 0, plan.input_count},
                       {Space::kOutput, 0, plan.output_count});
    return build_lane(task);
  }
  const Algorithm& last = *find_algorithm(choice.algorithms.back());
  const bool meets_always = last.is_mapped && last.is_one_step;
  const int lanes = task.lanes = last.is_one_step ? 1 : std::max(1, choice.lanes);
  for (int i = 0; i < lanes; ++i) {
    task.range = split({Space::kOutput, 0, request.count}, lanes, i, request.element_bytes);
    if (task.range.count == 0 && !meets_always) continue;
    begin_vector_lane(builder, plan, task.range);
    build_lane(task);
  }
}

// A single rank: the output is a copy of the input.
void build_alone(Plan& plan) {
  if (plan.output_count == 0) return;
  Builder builder(plan);
  const Range all{Space::kOutput, 0, plan.output_count};
  builder.begin_lane(all, all);
  builder.copy(in(Space::kInput, all), all);
}

}  // namespace

Plan build(const topo::Grid& grid, const Request& request, const Choice& choice, int rank) {
  Plan plan;
  plan.collective = request.collective;
  plan.rank = rank;
  plan.ranks = grid.size();
  plan.algorithm = choice.text();
  check_rank(rank, "rank", plan.ranks);
  check(request, plan.ranks);
  set_counts(plan, request);
  if (plan.ranks == 1) {
    build_alone(plan);
  } else {
    build_lanes(plan, grid, request, choice);
  }
  return plan;
}

}  // namespace tutti::plan
