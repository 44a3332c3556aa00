// Vendor: the collectives that the transport's own library brings (MPI, NCCL), one call per
// dimension.
//
// all_reduce. Every rank's vector becomes the fold of all, in place: one call.
// reduce_scatter. Of the pieces that every rank holds, rank i gets the fold of piece i: one call,
// into
//   scratch, because such libraries do not let the result lie within the source, and a copy.
// all_gather. Rank i holds piece i, then all hold all: one call.
// Steps and bytes are the library's own affair; the cost stands for the best known, log n and
// 2(n-1)/n S.
#include <bit>

#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

Cost vendor_cost(Collective collective, int ranks, double bytes, int) {
  const double phases = collective == Collective::kAllReduce ? 2 : 1;
  return {phases * std::bit_width(static_cast<unsigned>(ranks - 1)),
          phases * (ranks - 1) / ranks * bytes};
}

void build_vendor(Builder& builder, const Stage& stage) {
  const Line& line = stage.line;
  if (stage.collective == Collective::kAllReduce) {
    if (stage.range.count == 0) return;
    return builder.vendor(stage.collective, line, stage.range, stage.range, {stage.range.count},
                          stage.completes);
  }
  const auto whole = stage.pieces->runs(0, line.size());
  if (whole.empty()) return;
  std::vector<std::int64_t> counts;
  for (int i = 0; i < line.size(); ++i) counts.push_back(stage.pieces->count(i));
  const Range mine = stage.pieces->only(line.index);
  if (stage.collective == Collective::kAllGather) {
    return builder.vendor(stage.collective, line, mine, whole.front(), counts, false);
  }
  const Range result = builder.scratch(mine.count);
  builder.vendor(stage.collective, line, whole.front(), result, counts, stage.completes);
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
