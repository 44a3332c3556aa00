// A part of the rows, column by column, from which bins are found.
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
  // Of each column: values other than NaN, and for sparse matrices other than 0, in any order.
  std::vector<std::vector<double>> values;
  std::vector<std::int64_t> missing;  // NaN in each column
};

// Which rows belong to it depends on their place among the rows of all ranks only.
Sample take_sample(const Matrix& matrix, const BinOptions& options, Threads& threads,
                   comm::Communicator* communicator);

// Ascending, without comparing: digit by digit.
void sort_numbers(std::vector<double>& values);

}  // namespace tutti::learn::tree
