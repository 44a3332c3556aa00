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
  bool is_narrow = false;      // labels 0 and 1 with small integer weights: sums fit into 32 bits
  std::int64_t rows = 0;       // on all ranks
  std::int64_t first_row = 0;  // of this rank
};

// Checks the targets (ConfigError DDL-9-20) and chooses the units, identical on all ranks. A row may be used `copies`
// times: labels and weights times that must fit into 32 bits.
TargetScales find_scales(const Targets& targets, std::int64_t rows, int classes, Threads& threads,
                         comm::Communicator* communicator, int copies = 1);

}  // namespace tutti::learn::tree
