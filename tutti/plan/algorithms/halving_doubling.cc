// Recursive halving and doubling (Rabenseifner 2004; Thakur et al. 2005): as few bytes as a ring in
// log n steps, between partners that come nearer (or go further) by half each time.
//
// n ranks, a power of two, the vector cut in n pieces.
// reduce_scatter. At the start every rank holds its own version of all pieces. Partners n/2 apart
//   exchange halves: each sends the half it does not lie in and folds the other; then n/4 apart on
//   that half, and so on. After log2 n steps rank i holds piece i, complete.
// all_gather. The reverse: partners 1 apart exchange what they hold, then 2 apart, ...
// all_reduce is one after the other: 2 log2 n steps, 2(n-1)/n S bytes sent by each rank.
//
// Not a power of two: pairs as in power_of_two.h. The odd one hands its vector to the even one
// first and gets its part at the end: 2 steps and, for those pairs, up to 2 S bytes more.
#include "tutti/plan/algorithms/power_of_two.h"
#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

Cost halving_doubling_cost(Collective collective, int ranks, double bytes, int) {
  const Actives actives(ranks);
  const double phases = collective == Collective::kAllReduce ? 2 : 1;
  const double steps = phases * std::countr_zero(static_cast<unsigned>(actives.count));
  const double share = phases * (actives.count - 1) / actives.count;
  if (actives.pairs == 0) return {steps, share * bytes};
  return {steps + 2, (share + 2) * bytes};
}

struct Halving {
  Builder& builder;
  const Line& line;
  const Pieces& pieces;
  Actives actives{line.size()};

  bool is_paired() const { return actives.is_paired(line.index); }
  bool is_active() const { return actives.is_active(line.index); }
  int twin() const { return line.ranks[line.index ^ 1]; }
  // What the actives first..last-1 work for.
  std::vector<Range> of(int first, int last) const {
    return pieces.runs(actives.index_of(first), actives.index_of(last));
  }
  std::vector<Range> all() const { return pieces.runs(0, line.size()); }
  std::vector<Range> piece(int index) const { return pieces.runs(index, index + 1); }

  // The odd one of a pair gives `ranges` to the even one, or gets them from it.
  void to_even(const std::vector<Range>& ranges, Fold fold = {}) const {
    if (!is_paired()) return;
    if (is_active()) return builder.exchange(line, -1, {}, twin(), ranges, fold);
    builder.exchange(line, twin(), ranges, -1, {});
  }
  void to_odd(const std::vector<Range>& ranges) const {
    if (!is_paired()) return;
    if (!is_active()) return builder.exchange(line, -1, {}, twin(), ranges);
    builder.exchange(line, twin(), ranges, -1, {});
  }

  // One step with the active `distance` away: blocks of that many actives, mine and its.
  template <class Step>
  void with_partner(int distance, Step step) const {
    const int mine = actives.number_of(line.index);
    const int partner = mine ^ distance;
    const int my_first = mine / distance * distance;
    const int its_first = partner / distance * distance;
    step(line.ranks[actives.index_of(partner)], partner < mine, of(my_first, my_first + distance),
         of(its_first, its_first + distance));
  }

  void halve(bool completes) const {
    to_even(all(), {.reduce = true});
    if (!is_active()) return;
    for (int distance = actives.count / 2; distance >= 1; distance /= 2) {
      with_partner(distance, [&](int rank, bool is_before, const auto& mine, const auto& its) {
        builder.exchange(line, rank, its, rank, mine,
                         {true, is_before, completes && distance == 1});
      });
    }
  }

  void multiply() const {
    if (!is_active()) return;
    for (int distance = 1; distance < actives.count; distance *= 2) {
      with_partner(distance, [&](int rank, bool, const auto& mine, const auto& its) {
        builder.exchange(line, rank, mine, rank, its);
      });
    }
  }
};

void build_halving_doubling(Builder& builder, const Stage& stage) {
  const Line& line = stage.line;
  const int odd = line.index | 1;
  if (stage.collective == Collective::kReduceScatter) {
    const Halving halving{builder, line, *stage.pieces};
    halving.halve(stage.completes);
    halving.to_odd(halving.is_paired() ? halving.piece(odd) : std::vector<Range>{});
  } else if (stage.collective == Collective::kAllGather) {
    const Halving halving{builder, line, *stage.pieces};
    halving.to_even(halving.is_paired() ? halving.piece(odd) : std::vector<Range>{});
    halving.multiply();
    halving.to_odd(halving.all());
  } else {
    const auto pieces = Pieces::of_cut(stage.range, line.size(), stage.request.element_bytes);
    const Halving halving{builder, line, pieces};
    halving.halve(stage.completes);
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
