// Quantiles of numbers that are dealt to groups, such as what is left in each leaf of a tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn::tree {

// Row by row; those of this rank.
struct GroupedRows {
  std::span<const std::int32_t> groups;  // of each row
  std::span<const double> labels;
  std::span<const double> scores;   // taken from the labels
  std::span<const double> weights;  // empty: 1 each
  double greatest_weight = 1;       // of all ranks, as the next two
  bool has_whole_weights = true;
  std::int64_t total_rows = 0;
};

struct GroupQuantile {
  bool exists = false;  // a row of weight above 0 is in the group
  double value = 0;
};

// Of each group's label - score: half-way between the least number that at least the share `alpha`
// of the weight does not exceed and the least one that more does not; so a row of weight 2 is two
// rows, and the median of an even number lies half-way between two. Exact, and so the same bits for
// any number of threads and ranks: digits of 8 bits are decided one after the other, from the
// first, by counting the weight behind each of their values; weights that are not whole become
// multiples of 2^-62 of their greatest sum. Over ranks there are eight sums of 256 numbers for each
// group, twice where a group's share falls between two numbers.
std::vector<GroupQuantile> group_quantiles(const GroupedRows& rows, int groups, double alpha,
                                           Threads& threads, comm::Communicator* communicator);

// Bytes that it takes for each row.
constexpr std::int64_t kQuantileBytes = 16;

}  // namespace tutti::learn::tree
