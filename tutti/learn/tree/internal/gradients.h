// Gradients as whole numbers, in the records from which a tree grows.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/tree/bins/rank_rows.h"
#include "tutti/learn/tree/grow/growth.h"
#include "tutti/learn/tree/objective.h"
#include "tutti/learn/tree/targets.h"

namespace tutti::learn::tree {

// One tree's view of the rows.
struct GradientTask {
  const Objective& objective;
  const Targets& targets;
  std::span<const double> scores;
  int output = 0;
  RankRows rank_rows;
  double greatest_weight = 1;
  bool has_whole_weights = true;  // and small ones
  bool is_exact = false;
  double subsample = 1;
  std::uint64_t seed = 0;  // of this tree
};

struct GradientScales {
  SumScales units;
  bool is_narrow = true;
};

// How large gradients are, and so what one unit of the sums must be; the same on all ranks. Narrow
// sums need rows that are few enough, and gradients that are not all small beside a few.
GradientScales find_units(const GradientTask& task, Threads& threads,
                          comm::Communicator* communicator);

// A RecordSource: the records of the rows [begin, end). Rounds up or down at random, so that sums
// are right in the mean; the random number is one of the tree and the row's place among all ranks.
// Rows of weight 0 and those that are not drawn are left out; `target` has room for all.
template <class Record>
std::int64_t make_records(const GradientTask& task, const GradientScales& scales,
                          std::int64_t begin, std::int64_t end, Record* target);

}  // namespace tutti::learn::tree
