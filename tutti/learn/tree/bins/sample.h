// Sample of the rows, column by column, from which bins are computed.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/tree/bins/bin_options.h"

namespace tutti::comm {
class Communicator;
}

namespace tutti::learn::tree {

struct Sample {
  std::int64_t rows = 0;
  // Per column, in any order: the values other than NaN and, for sparse matrices, other than 0.
  std::vector<std::vector<double>> values;
  std::vector<std::int64_t> missing;  // number of NaN per column
};

// The selection depends only on the index of a row among the rows of all ranks.
Sample take_sample(const Matrix& matrix, const BinOptions& options, Threads& threads,
                   comm::Communicator* communicator);

// Radix sort, ascending.
void sort_numbers(std::vector<double>& values);

}  // namespace tutti::learn::tree
