// Fixed-point labels and weights, exact if they are integers.
#pragma once

#include <cstdint>
#include <span>

#include "tutti/learn/tree/targets.h"

namespace tutti::comm {
class Communicator;
}
namespace tutti::learn {
class Threads;
}

namespace tutti::learn::tree {

struct TargetScales {
  double label_offset = 0;  // subtracted from the labels before scaling
  double label_unit = 1, weight_unit = 1;
  double max_weight = 1;
  bool has_equal_weights = true;  // of all rows above 0
  bool is_narrow = false;      // labels 0 and 1 with small integer weights: sums fit into 32 bits
  std::int64_t rows = 0;       // on all ranks
  std::int64_t first_row = 0;  // of this rank
};

// Upper bounds of the use of rows in one tree, relative to using each row once.
struct RowUse {
  double of_row = 1, of_all = 1;
};

// Checks the targets (ConfigError DDL-9-20) and chooses the units, identical on all ranks. Weights times `use.of_row`
// fit into 32 bits. Labels take the bits that the sum over all rows leaves in 64.
TargetScales find_scales(const Targets& targets, std::int64_t rows, int classes, Threads& threads,
                         comm::Communicator* communicator, const RowUse& use = {});

}  // namespace tutti::learn::tree
