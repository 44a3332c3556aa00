// Table of algorithms. A new algorithm is one file in this directory and one row in this table.
//
// Each algorithm works on a *subgroup*: ranks connected by one kind of link. `multi_dimensional` composes the others,
// dimension by dimension, into a plan for a whole grid.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tutti/plan/builder.h"
#include "tutti/plan/plan.h"

namespace tutti::plan {

// The task of an algorithm: one collective along one subgroup, for one lane.
//   all_reduce       each rank holds `range`; at the end each holds the reduction over all ranks
//   reduce_scatter   each rank holds all `pieces`; at the end rank i holds piece i, reduced over all ranks
//   all_gather       rank i holds piece i; at the end each rank holds all pieces
//   broadcast        the root holds `range`; at the end all ranks do
//   reduce           each rank holds `range`; at the end the root holds the reduction over all ranks
// These work in place, in memory (`range.space`) that may be overwritten. The exception is `direct`, which
// performs the whole collective from input to output. gather, scatter and all_to_all go from input to output
// as described by `request`.
struct SubgroupTask {
  Collective collective = Collective::kAllReduce;
  const Subgroup& subgroup;
  const Request& request;
  Range range = {};
  const Pieces* pieces = nullptr;
  int root = 0;            // index in the subgroup
  bool completes = false;  // no other subgroup follows: reductions are final
};

// Properties of a subgroup and a request that determine whether an algorithm supports it.
struct Shape {
  int ranks = 1;
  bool mapped = false;        // ranks map each other's memory
  bool reproducible = false;  // reduce in rank order
  bool uniform = true;        // all_to_all: equal counts on all ranks
  bool is_whole = true;       // the subgroup holds all ranks of the plan
  std::size_t bytes = 0;      // size of the vector of an all_reduce
};

// Cost along one subgroup. steps: messages (or host barriers) on the longest dependency chain. bytes: bytes transferred
// sequentially on that chain; for mapped algorithms, bytes that one rank reads and writes.
struct Cost {
  double steps = 0;
  double bytes = 0;
};

// A row of the table.
struct Algorithm {
  std::string_view name;
  std::string_view description;
  std::string_view letters = {};  // letters of the option -mode
  bool (*supports)(Collective collective, const Shape& shape);
  // Cost for a vector (or all pieces) of `bytes` bytes, split into `lanes` lanes.
  Cost (*cost)(Collective collective, int ranks, double bytes, int lanes);
  void (*build)(Builder& builder, const SubgroupTask& task);
  bool is_mapped = false;    // for ranks of one host that map each other's memory
  bool is_one_step = false;  // blocks until the whole subgroup has finished, so a plan has one lane
};

std::span<const Algorithm> algorithms();
// Returns nullptr if no algorithm has this name.
const Algorithm* find_algorithm(std::string_view name);
// The table in Markdown, as shown in docs/design/algorithms.md and by `tutti info`.
std::string table_text();

inline bool is_reduction(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

// Collectives on one vector. Only these are split into lanes.
inline bool is_on_vector(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kBroadcast ||
         collective == Collective::kReduce;
}

// `supports` of algorithms that reduce piece by piece in arrival order: all_reduce, reduce_scatter and all_gather, but
// no reproducible (rank-order) reduction.
inline bool supports_pieces(Collective collective, const Shape& shape) {
  if (collective == Collective::kAllGather) return true;
  return !shape.reproducible &&
         (collective == Collective::kAllReduce || collective == Collective::kReduceScatter);
}

// The algorithms, each defined in its own file.
Algorithm direct();
Algorithm host_eager();
Algorithm host_direct();
Algorithm host_staged();
Algorithm ring();
Algorithm halving_doubling();
Algorithm recursive_doubling();
Algorithm double_tree();
Algorithm knomial();
Algorithm pairwise();
Algorithm vendor();
Algorithm dissemination();
Algorithm send_receive();
Algorithm multi_dimensional();

}  // namespace tutti::plan
