// Quantised gradients: integer gradients and hessians in the records from which a tree grows.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/tree/bins/rank_rows.h"
#include "tutti/learn/tree/grow/growth.h"
#include "tutti/learn/tree/objective.h"
#include "tutti/learn/tree/targets.h"

namespace tutti::learn::tree {

// Rows of one tree.
struct GradientTask {
  const Objective& objective;
  const Targets& targets;
  std::span<const double> scores;
  int output = 0;
  RankRows rank_rows;
  double max_weight = 1;
  bool has_integer_weights = true;  // and small
  bool is_exact = false;
  double subsample = 1;
  std::uint64_t seed = 0;  // of this tree
};

struct GradientScales {
  SumScales units;
  bool is_narrow = true;
};

// Chooses the unit of the integer sums from the magnitudes of the gradients; identical on all ranks. Narrow sums need
// few enough rows, and gradients that are not dominated by a few large ones.
GradientScales find_units(const GradientTask& task, Threads& threads,
                          comm::Communicator* communicator);

// A RecordSource: writes the records of the rows [begin, end). Stochastic rounding keeps sums unbiased; the random
// number depends on the tree and on the index of the row among all ranks. Rows of weight 0 and rows that are not
// sampled are skipped; `target` has room for all.
template <class Record>
std::int64_t make_records(const GradientTask& task, const GradientScales& scales,
                          std::int64_t begin, std::int64_t end, Record* target);

}  // namespace tutti::learn::tree
