// Vendor: native collectives of the transport's library (MPI, NCCL), one call per dimension.
//
// - all_reduce. In place: one call.
// - reduce_scatter. Each rank holds all pieces; rank i receives the reduction of piece i. One call into scratch memory,
//   because these libraries do not allow the result to overlap the source, and one copy.
// - all_gather. Rank i holds piece i; at the end each rank holds all pieces: one call.
//
// The library determines the number of steps and bytes. The cost function assumes the best known algorithms: log n
// steps and (n-1)/n S bytes per phase; all_reduce has two phases.
#include <bit>

#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

Cost vendor_cost(Collective collective, int ranks, double bytes, int) {
  const double phases = collective == Collective::kAllReduce ? 2 : 1;
  return {phases * std::bit_width(static_cast<unsigned>(ranks - 1)),
          phases * (ranks - 1) / ranks * bytes};
}

void build_vendor(Builder& builder, const SubgroupTask& task) {
  const Subgroup& subgroup = task.subgroup;
  if (task.collective == Collective::kAllReduce) {
    if (task.range.count == 0) return;
    return builder.vendor(task.collective, subgroup, task.range, task.range, {task.range.count},
                          task.completes);
  }
  const auto whole = task.pieces->runs(0, subgroup.size());
  if (whole.empty()) return;
  std::vector<std::int64_t> counts;
  for (int i = 0; i < subgroup.size(); ++i) counts.push_back(task.pieces->count(i));
  const Range mine = task.pieces->only(subgroup.index);
  if (task.collective == Collective::kAllGather) {
    return builder.vendor(task.collective, subgroup, mine, whole.front(), counts, false);
  }
  const Range result = builder.scratch(mine.count);
  builder.vendor(task.collective, subgroup, whole.front(), result, counts, task.completes);
  builder.copy(result, mine);
}

}  // namespace

Algorithm vendor() {
  return {.name = "vendor",
          .description = "the transport's own collectives (MPI, NCCL)",
          .letters = "m",
          .supports = supports_pieces,
          .cost = vendor_cost,
          .build = build_vendor,
          .is_one_step = true};
}

}  // namespace tutti::plan
