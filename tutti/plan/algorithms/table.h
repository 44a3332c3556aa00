// The algorithms: one row each, in one table. A new one is one file in this folder and one row
// here.
//
// Each row works on a *line*: ranks joined by one kind of link. `multi_dimensional` is the row that
// composes the others, line by line, into a plan for a whole grid.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tutti/plan/builder.h"
#include "tutti/plan/plan.h"

namespace tutti::plan {

// The task of one line in one lane.
//   all_reduce       every rank holds `range`; at the end everyone's is the fold of all.
//   reduce_scatter   every rank holds all `pieces`; at the end rank i has the fold of piece i.
//   all_gather       rank i holds piece i; at the end everyone has all.
//   broadcast        the root holds `range`; at the end all do.
//   reduce           every rank holds `range`; at the end the root's is the fold of all.
// These work in place, in memory (`range.space`) that may be overwritten, but for `direct`, which
// does the whole collective from input to output. gather, scatter and all_to_all go from input
// to output, by `request`.
struct Stage {
  Collective collective = Collective::kAllReduce;
  const Line& line;
  const Request& request;
  Range range = {};
  const Pieces* pieces = nullptr;
  int root = 0;            // index in the line
  bool completes = false;  // no other line follows: folds are final
};

// Who asks: what an algorithm must know to say whether it can.
struct Shape {
  int ranks = 1;
  bool mapped = false;        // ranks map each other's memory
  bool reproducible = false;  // folds in rank order
  bool uniform = true;        // of all_to_all: the same count everywhere
  bool is_whole = true;       // all ranks of the plan
  std::size_t bytes = 0;      // of an all_reduce
};

// Of one line: messages (or syncs) one after the other on the longest path, and the bytes that pass
// on it one after the other (mapped: that one rank reads and writes).
struct Cost {
  double steps = 0;
  double bytes = 0;
};

struct Algorithm {
  std::string_view name;
  std::string_view description;
  std::string_view letters = {};  // of the option -mode
  bool (*supports)(Collective collective, const Shape& shape);
  // `bytes` of the whole vector (of all pieces), cut in `lanes`.
  Cost (*cost)(Collective collective, int ranks, double bytes, int lanes);
  void (*build)(Builder& builder, const Stage& stage);
  bool is_mapped = false;    // for ranks of one host, which map each other's memory
  bool is_one_step = false;  // blocks until the whole line is done, so a plan has one lane
};

std::span<const Algorithm> algorithms();
// nullptr when there is none of this name.
const Algorithm* find_algorithm(std::string_view name);
// The table for people, in Markdown: as docs/design/algorithms.md and `tutti info` show it.
std::string table_text();

inline bool is_reduction(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

// The collectives on one vector; they alone are cut in lanes.
inline bool is_on_vector(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kBroadcast ||
         collective == Collective::kReduce;
}

// What rows can do that fold piece by piece as messages come, in an order of their own: all_reduce,
// reduce_scatter and all_gather, but no reduction in rank order.
inline bool supports_pieces(Collective collective, const Shape& shape) {
  if (collective == Collective::kAllGather) return true;
  return !shape.reproducible &&
         (collective == Collective::kAllReduce || collective == Collective::kReduceScatter);
}

// The rows, each defined in its file.
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
