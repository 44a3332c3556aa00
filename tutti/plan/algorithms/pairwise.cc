// Pairwise exchange: each rank exchanges data with every other rank, one peer per step.
//
// n ranks. In step t = 1 .. n-1, rank i sends to rank i+t and receives from rank i-t, so no rank
// receives two messages at once.
//
// - all_to_all. At the start rank i holds one piece for each rank; step t sends the piece for rank i+t. At the end it
//   holds one piece from each rank: n-1 steps, each byte crosses the wire once.
// - reduce_scatter. Step t sends the unreduced piece i+t to its owner and stores the received piece in scratch memory.
//   At the end rank i holds n unreduced versions of piece i and reduces them in a single pass, in subgroup order: n-1
//   steps, (n-1)/n S bytes. On a subgroup in rank order each element is r0 op r1 op r2 ... for any split of the vector,
//   so the result is reproducible.
// - all_gather. Step t sends piece i to rank i+t.
// - all_reduce. reduce_scatter, then all_gather.
// - reduce. reduce_scatter, then every owner sends its piece to the root.
#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

bool pairwise_supports(Collective collective, const Shape&) {
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kReduce:
    case Collective::kAllToAll: return true;
    default: return false;
  }
}

Cost pairwise_cost(Collective collective, int ranks, double bytes, int) {
  const bool twice = collective == Collective::kAllReduce || collective == Collective::kReduce;
  const double phases = twice ? 2 : 1;
  return {phases * (ranks - 1), phases * (ranks - 1) / ranks * bytes};
}

// Unreduced versions of this rank's piece. The versions of each run are stored consecutively, in subgroup order.
class RawPieces {
 public:
  RawPieces(Builder& builder, const Subgroup& subgroup, const Pieces& pieces)
      : runs_(pieces.runs(subgroup.index, subgroup.index + 1)), ranks_(subgroup.size()) {
    for (const Range& run : runs_) kept_.push_back(builder.scratch(run.count * ranks_));
  }
  std::vector<Range> version(int index) const {
    std::vector<Range> ranges;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      ranges.push_back({Space::kScratch, kept_[r].begin + index * runs_[r].count, runs_[r].count});
    }
    return ranges;
  }
  void keep_own(Builder& builder, int index) const {
    const auto own = version(index);
    for (std::size_t r = 0; r < runs_.size(); ++r) builder.copy(runs_[r], own[r]);
  }
  void reduce(Builder& builder, bool completes) const {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      builder.reduce_local(kept_[r], ranks_, runs_[r], completes);
    }
  }

 private:
  std::vector<Range> runs_;
  std::vector<Range> kept_;
  int ranks_;
};

void pairwise_reduce_scatter(Builder& builder, const Subgroup& subgroup, const Pieces& pieces,
                             bool completes) {
  const RawPieces raw(builder, subgroup, pieces);
  raw.keep_own(builder, subgroup.index);
  for (int t = 1; t < subgroup.size(); ++t) {
    const int to = subgroup.wrap(subgroup.index + t);
    const int from = subgroup.wrap(subgroup.index - t);
    builder.exchange(subgroup, subgroup.ranks[to], pieces.runs(to, to + 1), subgroup.ranks[from],
                     raw.version(from));
  }
  raw.reduce(builder, completes);
}

void pairwise_all_gather(Builder& builder, const Subgroup& subgroup, const Pieces& pieces) {
  const auto mine = pieces.runs(subgroup.index, subgroup.index + 1);
  for (int t = 1; t < subgroup.size(); ++t) {
    const int from = subgroup.wrap(subgroup.index - t);
    builder.exchange(subgroup, subgroup.neighbour(t), mine, subgroup.ranks[from],
                     pieces.runs(from, from + 1));
  }
}

void collect(Builder& builder, const Subgroup& subgroup, const Pieces& pieces, int root) {
  if (subgroup.index != root) {
    return builder.exchange(subgroup, subgroup.ranks[root],
                            pieces.runs(subgroup.index, subgroup.index + 1), -1, {});
  }
  for (int t = 1; t < subgroup.size(); ++t) {
    const int from = subgroup.wrap(root + t);
    builder.exchange(subgroup, -1, {}, subgroup.ranks[from], pieces.runs(from, from + 1));
  }
}

void all_to_all(Builder& builder, const Subgroup& subgroup, const Request& request) {
  const int ranks = subgroup.size();
  const auto ranges_of = [&](Space space, const std::vector<std::int64_t>& counts) {
    std::vector<Range> ranges;
    std::int64_t begin = 0;
    for (int r = 0; r < ranks; ++r) {
      const std::int64_t count = counts.empty() ? request.count : counts[r];
      ranges.push_back({space, begin, count});
      begin += count;
    }
    return ranges;
  };
  const auto sent = ranges_of(Space::kInput, request.send_counts);
  const auto received = ranges_of(Space::kOutput, request.receive_counts);
  const int me = subgroup.ranks[subgroup.index];
  builder.copy(sent[me], received[me]);
  for (int t = 1; t < ranks; ++t) {
    const int to = subgroup.neighbour(t);
    const int from = subgroup.neighbour(-t);
    builder.exchange(subgroup, to, sent[to], from, received[from]);
  }
}

void build_pairwise(Builder& builder, const SubgroupTask& task) {
  const Subgroup& subgroup = task.subgroup;
  switch (task.collective) {
    case Collective::kReduceScatter:
      return pairwise_reduce_scatter(builder, subgroup, *task.pieces, task.completes);
    case Collective::kAllGather: return pairwise_all_gather(builder, subgroup, *task.pieces);
    case Collective::kAllToAll: return all_to_all(builder, subgroup, task.request);
    default: break;
  }
  const auto pieces = Pieces::of_split(task.range, subgroup.size(), task.request.element_bytes);
  pairwise_reduce_scatter(builder, subgroup, pieces, task.completes);
  if (task.collective == Collective::kReduce) {
    collect(builder, subgroup, pieces, task.root);
  } else {
    pairwise_all_gather(builder, subgroup, pieces);
  }
}

}  // namespace

Algorithm pairwise() {
  return {"pairwise",
          "every pair of ranks in turn; all_to_all, and reductions strictly in rank order",
          "",
          pairwise_supports,
          pairwise_cost,
          build_pairwise};
}

}  // namespace tutti::plan
