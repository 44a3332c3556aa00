// Dissemination barrier (Hensgen, Finkel and Manber 1988), without a root.
//
// n ranks, any n. In step t, rank i sends one element (its value is ignored) to rank i + 2^t and waits for one from
// rank i - 2^t. After step t it knows that the 2^(t+1) - 1 ranks before it have entered the barrier. After ceil(log2 n)
// steps it knows this of all ranks.
#include <bit>

#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

bool dissemination_supports(Collective collective, const Shape&) {
  return collective == Collective::kBarrier;
}

Cost dissemination_cost(Collective, int ranks, double, int) {
  return {static_cast<double>(std::bit_width(static_cast<unsigned>(ranks - 1))), 0};
}

void build_dissemination(Builder& builder, const SubgroupTask& task) {
  const Subgroup& subgroup = task.subgroup;
  const Range sent = builder.scratch(1), received = builder.scratch(1);
  for (int distance = 1; distance < subgroup.size(); distance *= 2) {
    builder.exchange(subgroup, subgroup.neighbour(distance), sent, subgroup.neighbour(-distance),
                     received);
  }
}

}  // namespace

Algorithm dissemination() {
  return {"dissemination",
          "barrier by messages of one element, twice as far each time",
          "",
          dissemination_supports,
          dissemination_cost,
          build_dissemination};
}

}  // namespace tutti::plan
