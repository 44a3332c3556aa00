// Exact quantiles per group, such as the residuals in each leaf of a tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn::tree {

// Rows of this rank.
struct GroupedRows {
  std::span<const std::int32_t> groups;  // per row
  std::span<const double> labels;
  std::span<const double> scores;   // subtracted from the labels
  std::span<const double> weights;  // empty: all 1
  double max_weight = 1;            // over all ranks, like the next two
  bool has_integer_weights = true;
  std::int64_t total_rows = 0;
};

struct GroupQuantile {
  bool exists = false;  // the group has a row of weight above 0
  double value = 0;
};

// Returns the weighted quantile `alpha` of the residuals label - score of each group: the midpoint between the smallest
// value whose cumulative weight is at least alpha of the total and the smallest one whose cumulative weight exceeds it.
// A row of weight 2 counts as two rows, and the median of an even number of rows is a midpoint.
//
// Radix selection: the 8-bit digits of the key are determined from the most significant one, by summing the weights of
// each digit value. Weights that are not integers become multiples of 2^-62 of their maximum sum. The result is exact,
// hence bitwise identical for any number of threads and ranks. With ranks there are eight reductions of 256 numbers per
// group, twice as many if a quantile is between two values.
std::vector<GroupQuantile> group_quantiles(const GroupedRows& rows, int groups, double alpha,
                                           Threads& threads, comm::Communicator* communicator);

// Memory per row in bytes.
constexpr std::int64_t kQuantileBytes = 16;

}  // namespace tutti::learn::tree
