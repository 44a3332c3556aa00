// Ring (Patarasuk and Yuan 2009): each rank communicates with its two neighbours only.
//
// n ranks in a ring; the vector is split into n pieces.
//
// - reduce_scatter. At the start each rank holds its version of all pieces. In step t rank i sends piece i-1-t to rank
//   i+1 and reduces piece i-2-t, received from rank i-1, into its own. After n-1 steps piece i has passed all ranks,
//   and rank i holds it fully reduced.
// - all_gather. At the start rank i holds piece i. In step t it forwards the piece it received last, i-t, and receives
//   piece i-t-1. After n-1 steps each rank holds all pieces.
// - all_reduce. reduce_scatter, then all_gather: 2(n-1) steps, 2(n-1)/n S bytes sent by each rank. This is optimal, and
//   every link carries the same load.
#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

Cost ring_cost(Collective collective, int ranks, double bytes, int) {
  const double phases = collective == Collective::kAllReduce ? 2 : 1;
  return {phases * (ranks - 1), phases * (ranks - 1) / ranks * bytes};
}

void ring_reduce_scatter(Builder& builder, const Subgroup& subgroup, const Pieces& pieces,
                         bool completes) {
  for (int t = 0; t + 1 < subgroup.size(); ++t) {
    const int sent = subgroup.wrap(subgroup.index - 1 - t);
    const int reduced = subgroup.wrap(subgroup.index - 2 - t);
    const bool last = t + 2 == subgroup.size();
    builder.exchange(subgroup, subgroup.neighbour(1), pieces.runs(sent, sent + 1),
                     subgroup.neighbour(-1), pieces.runs(reduced, reduced + 1),
                     {.reduce = true, .arrived_first = true, .completes = completes && last});
  }
}

void ring_all_gather(Builder& builder, const Subgroup& subgroup, const Pieces& pieces) {
  for (int t = 0; t + 1 < subgroup.size(); ++t) {
    const int sent = subgroup.wrap(subgroup.index - t);
    const int received = subgroup.wrap(subgroup.index - t - 1);
    builder.exchange(subgroup, subgroup.neighbour(1), pieces.runs(sent, sent + 1),
                     subgroup.neighbour(-1), pieces.runs(received, received + 1));
  }
}

void build_ring(Builder& builder, const SubgroupTask& task) {
  switch (task.collective) {
    case Collective::kReduceScatter:
      return ring_reduce_scatter(builder, task.subgroup, *task.pieces, task.completes);
    case Collective::kAllGather: return ring_all_gather(builder, task.subgroup, *task.pieces);
    default: {
      const auto pieces =
          Pieces::of_split(task.range, task.subgroup.size(), task.request.element_bytes);
      ring_reduce_scatter(builder, task.subgroup, pieces, task.completes);
      ring_all_gather(builder, task.subgroup, pieces);
    }
  }
}

}  // namespace

Algorithm ring() {
  return {"ring",    "pieces travel round a ring; least bytes, most steps",
          "r",       supports_pieces,
          ring_cost, build_ring};
}

}  // namespace tutti::plan
