// Labels and weights as whole numbers, exact where they are whole themselves.
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
  double label_offset = 0;  // taken from labels before they are scaled
  double label_unit = 1, weight_unit = 1;
  double greatest_weight = 1;
  bool is_narrow = false;      // labels 0 and 1, small whole weights: sums fit into 32 bits
  std::int64_t rows = 0;       // of all ranks
  std::int64_t first_row = 0;  // of this rank
};

// Checks the targets (ConfigError DDL-9-20) and finds the units, the same on all ranks. A row may
// be taken `copies` times: labels and weights times that fit into 32 bits.
TargetScales find_scales(const Targets& targets, std::int64_t rows, int classes, Threads& threads,
                         comm::Communicator* communicator, int copies = 1);

}  // namespace tutti::learn::tree
