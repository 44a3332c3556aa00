// Recursive doubling: the fewest steps, for small vectors.
//
// n ranks, a power of two. At the start each rank holds its vector. Partners 1 apart exchange their full vectors and
// both reduce them; then partners 2 apart, 4 apart, and so on. After log2 n steps each rank holds the reduction over
// all ranks: log2 n steps, S log2 n bytes sent by each rank. Both partners reduce with the lower rank first, so the
// result is bitwise identical on all ranks.
//
// If n is not a power of two, ranks form pairs as in power_of_two.h. The odd rank of a pair sends its vector to the
// even one first and receives the result at the end: 2 more steps, 2 S more bytes.
#include "tutti/plan/algorithms/power_of_two.h"
#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

bool recursive_doubling_supports(Collective collective, const Shape& shape) {
  return collective == Collective::kAllReduce && !shape.reproducible;
}

Cost recursive_doubling_cost(Collective, int ranks, double bytes, int) {
  const PowerOfTwoRanks actives(ranks);
  const double steps =
      std::countr_zero(static_cast<unsigned>(actives.count)) + (actives.pairs > 0 ? 2 : 0);
  return {steps, steps * bytes};
}

void build_recursive_doubling(Builder& builder, const SubgroupTask& task) {
  const Subgroup& subgroup = task.subgroup;
  const Range& vector = task.range;
  const PowerOfTwoRanks actives(subgroup.size());
  if (!actives.is_active(subgroup.index)) {
    builder.send(subgroup, subgroup.ranks[subgroup.index - 1], vector);
    return builder.receive(subgroup, subgroup.ranks[subgroup.index - 1], vector);
  }
  if (actives.is_paired(subgroup.index)) {
    builder.receive(subgroup, subgroup.ranks[subgroup.index + 1], vector, {.reduce = true});
  }
  const int mine = actives.number_of(subgroup.index);
  for (int distance = 1; distance < actives.count; distance *= 2) {
    const int partner = mine ^ distance;
    const int rank = subgroup.ranks[actives.index_of(partner)];
    const bool is_last = 2 * distance == actives.count;
    builder.exchange(subgroup, rank, vector, rank, vector,
                     {true, partner < mine, task.completes && is_last});
  }
  if (actives.is_paired(subgroup.index))
    builder.send(subgroup, subgroup.ranks[subgroup.index + 1], vector);
}

}  // namespace

Algorithm recursive_doubling() {
  return {"recursive_doubling",
          "partners exchange whole vectors, further each time; fewest steps",
          "",
          recursive_doubling_supports,
          recursive_doubling_cost,
          build_recursive_doubling};
}

}  // namespace tutti::plan
