// Pairwise exchange: each rank exchanges data with every other rank, one peer per step.
//
// n ranks. In step t = 1 .. n-1, rank i sends to rank i+t and receives from rank i-t, so no rank
// receives two messages at once.
//
// - all_to_all. At the start rank i holds one piece for each rank; step t sends the piece for rank i+t. At the end it
//   holds one piece from each rank: n-1 steps, each byte crosses the wire once.
// - reduce_scatter. Step t sends the unreduced piece i+t to its owner and stores the received piece in scratch memory.
//   At the end rank i holds n unreduced versions of piece i and reduces them in a single pass, in line order: n-1
//   steps, (n-1)/n S bytes. On a line in rank order each element is r0 op r1 op r2 ... for any split of the vector, so
//   the result is reproducible.
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

// Unreduced versions of this rank's piece. The versions of each run are stored consecutively, in line order.
class RawPieces {
 public:
  RawPieces(Builder& builder, const Line& line, const Pieces& pieces)
      : runs_(pieces.runs(line.index, line.index + 1)), ranks_(line.size()) {
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
  void fold(Builder& builder, bool completes) const {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      builder.reduce_local(kept_[r], ranks_, runs_[r], completes);
    }
  }

 private:
  std::vector<Range> runs_;
  std::vector<Range> kept_;
  int ranks_;
};

void pairwise_reduce_scatter(Builder& builder, const Line& line, const Pieces& pieces,
                             bool completes) {
  const RawPieces raw(builder, line, pieces);
  raw.keep_own(builder, line.index);
  for (int t = 1; t < line.size(); ++t) {
    const int to = line.wrap(line.index + t);
    const int from = line.wrap(line.index - t);
    builder.exchange(line, line.ranks[to], pieces.runs(to, to + 1), line.ranks[from],
                     raw.version(from));
  }
  raw.fold(builder, completes);
}

void pairwise_all_gather(Builder& builder, const Line& line, const Pieces& pieces) {
  const auto mine = pieces.runs(line.index, line.index + 1);
  for (int t = 1; t < line.size(); ++t) {
    const int from = line.wrap(line.index - t);
    builder.exchange(line, line.neighbour(t), mine, line.ranks[from], pieces.runs(from, from + 1));
  }
}

void collect(Builder& builder, const Line& line, const Pieces& pieces, int root) {
  if (line.index != root) {
    return builder.exchange(line, line.ranks[root], pieces.runs(line.index, line.index + 1), -1,
                            {});
  }
  for (int t = 1; t < line.size(); ++t) {
    const int from = line.wrap(root + t);
    builder.exchange(line, -1, {}, line.ranks[from], pieces.runs(from, from + 1));
  }
}

void all_to_all(Builder& builder, const Line& line, const Request& request) {
  const int ranks = line.size();
  const auto places = [&](Space space, const std::vector<std::int64_t>& counts) {
    std::vector<Range> ranges;
    std::int64_t begin = 0;
    for (int r = 0; r < ranks; ++r) {
      const std::int64_t count = counts.empty() ? request.count : counts[r];
      ranges.push_back({space, begin, count});
      begin += count;
    }
    return ranges;
  };
  const auto sent = places(Space::kInput, request.send_counts);
  const auto received = places(Space::kOutput, request.receive_counts);
  const int me = line.ranks[line.index];
  builder.copy(sent[me], received[me]);
  for (int t = 1; t < ranks; ++t) {
    const int to = line.neighbour(t);
    const int from = line.neighbour(-t);
    builder.exchange(line, to, sent[to], from, received[from]);
  }
}

void build_pairwise(Builder& builder, const Stage& stage) {
  const Line& line = stage.line;
  switch (stage.collective) {
    case Collective::kReduceScatter:
      return pairwise_reduce_scatter(builder, line, *stage.pieces, stage.completes);
    case Collective::kAllGather: return pairwise_all_gather(builder, line, *stage.pieces);
    case Collective::kAllToAll: return all_to_all(builder, line, stage.request);
    default: break;
  }
  const auto pieces = Pieces::of_cut(stage.range, line.size(), stage.request.element_bytes);
  pairwise_reduce_scatter(builder, line, pieces, stage.completes);
  if (stage.collective == Collective::kReduce) {
    collect(builder, line, pieces, stage.root);
  } else {
    pairwise_all_gather(builder, line, pieces);
  }
}

}  // namespace

Algorithm pairwise() {
  return {"pairwise",
          "each with each in turn; all_to_all, and folds strictly in rank order",
          "",
          pairwise_supports,
          pairwise_cost,
          build_pairwise};
}

}  // namespace tutti::plan
