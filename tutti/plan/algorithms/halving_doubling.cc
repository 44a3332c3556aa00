// Recursive halving and doubling (Rabenseifner 2004; Thakur et al. 2005): the bytes of a ring in log n steps.
//
// n ranks, a power of two; the vector is split into n pieces.
//
// - reduce_scatter. At the start each rank holds its version of all pieces. Partners n/2 apart exchange halves: each
//   sends the half that does not contain its piece and reduces the received half into its own. The next step does the
//   same on that half with a partner n/4 apart, and so on. After log2 n steps rank i holds piece i, fully reduced.
// - all_gather. The reverse: partners 1 apart exchange the pieces they hold, then 2 apart, and so on.
// - all_reduce. reduce_scatter, then all_gather: 2 log2 n steps, 2(n-1)/n S bytes sent by each rank.
//
// If n is not a power of two, ranks form pairs as in power_of_two.h. The odd rank of a pair sends its vector to the
// even one first and receives its result at the end: 2 more steps and, for these pairs, up to 2 S more bytes.
#include "tutti/plan/algorithms/power_of_two.h"
#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

Cost halving_doubling_cost(Collective collective, int ranks, double bytes, int) {
  const PowerOfTwoRanks actives(ranks);
  const double phases = collective == Collective::kAllReduce ? 2 : 1;
  const double steps = phases * std::countr_zero(static_cast<unsigned>(actives.count));
  const double share = phases * (actives.count - 1) / actives.count;
  if (actives.pairs == 0) return {steps, share * bytes};
  return {steps + 2, (share + 2) * bytes};
}

struct Halving {
  Builder& builder;
  const Subgroup& subgroup;
  const Pieces& pieces;
  PowerOfTwoRanks actives{subgroup.size()};

  bool is_paired() const { return actives.is_paired(subgroup.index); }
  bool is_active() const { return actives.is_active(subgroup.index); }
  int twin() const { return subgroup.ranks[subgroup.index ^ 1]; }
  // Returns the pieces of all ranks that the active ranks first..last-1 represent.
  std::vector<Range> of(int first, int last) const {
    return pieces.runs(actives.index_of(first), actives.index_of(last));
  }
  std::vector<Range> all() const { return pieces.runs(0, subgroup.size()); }
  std::vector<Range> piece(int index) const { return pieces.runs(index, index + 1); }

  // The odd rank of a pair sends `ranges` to the even one (to_even) or receives them from it (to_odd).
  void to_even(const std::vector<Range>& ranges, ReceiveReduce reduction = {}) const {
    if (!is_paired()) return;
    if (is_active()) return builder.exchange(subgroup, -1, {}, twin(), ranges, reduction);
    builder.exchange(subgroup, twin(), ranges, -1, {});
  }
  void to_odd(const std::vector<Range>& ranges) const {
    if (!is_paired()) return;
    if (!is_active()) return builder.exchange(subgroup, -1, {}, twin(), ranges);
    builder.exchange(subgroup, twin(), ranges, -1, {});
  }

  // One step with the active rank at `distance`. The blocks of `distance` active ranks around this rank and around its
  // partner are passed to `step`.
  template <class Step>
  void with_partner(int distance, Step step) const {
    const int mine = actives.number_of(subgroup.index);
    const int partner = mine ^ distance;
    const int my_first = mine / distance * distance;
    const int its_first = partner / distance * distance;
    step(subgroup.ranks[actives.index_of(partner)], partner < mine,
         of(my_first, my_first + distance), of(its_first, its_first + distance));
  }

  void halve(bool completes) const {
    to_even(all(), {.reduce = true});
    if (!is_active()) return;
    for (int distance = actives.count / 2; distance >= 1; distance /= 2) {
      with_partner(distance, [&](int rank, bool is_before, const auto& mine, const auto& its) {
        builder.exchange(subgroup, rank, its, rank, mine,
                         {true, is_before, completes && distance == 1});
      });
    }
  }

  void multiply() const {
    if (!is_active()) return;
    for (int distance = 1; distance < actives.count; distance *= 2) {
      with_partner(distance, [&](int rank, bool, const auto& mine, const auto& its) {
        builder.exchange(subgroup, rank, mine, rank, its);
      });
    }
  }
};

void build_halving_doubling(Builder& builder, const SubgroupTask& task) {
  const Subgroup& subgroup = task.subgroup;
  const int odd = subgroup.index | 1;
  if (task.collective == Collective::kReduceScatter) {
    const Halving halving{builder, subgroup, *task.pieces};
    halving.halve(task.completes);
    halving.to_odd(halving.is_paired() ? halving.piece(odd) : std::vector<Range>{});
  } else if (task.collective == Collective::kAllGather) {
    const Halving halving{builder, subgroup, *task.pieces};
    halving.to_even(halving.is_paired() ? halving.piece(odd) : std::vector<Range>{});
    halving.multiply();
    halving.to_odd(halving.all());
  } else {
    const auto pieces = Pieces::of_split(task.range, subgroup.size(), task.request.element_bytes);
    const Halving halving{builder, subgroup, pieces};
    halving.halve(task.completes);
    halving.multiply();
    halving.to_odd(halving.all());
  }
}

}  // namespace

Algorithm halving_doubling() {
  return {"halving_doubling",
          "partners exchange halves, nearer each time; least bytes, log n steps",
          "c",
          supports_pieces,
          halving_doubling_cost,
          build_halving_doubling};
}

}  // namespace tutti::plan
