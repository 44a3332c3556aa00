// Traces of input sizes that have not been run.
//
// The number of bytes of each block and the time of each operator are affine functions of the input size (pixels,
// voxels, sequence length or batch): activations grow, parameters do not. Two recorded steps of different sizes
// determine them. Libraries choose other algorithms for small inputs, for example im2col for small 3-D convolutions, so
// both sizes should be above such thresholds. If the workspace of an operator differs between them, it is taken to grow
// in proportion to the input; other differences of operators or allocations are errors.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/lms/simulator.h"
#include "tutti/lms/trace.h"

namespace tutti::lms {

// A trace as a function of the input size.
class TraceModel {
 public:
  // Throws ConfigError (DDL-5-65) if the steps differ in operators, or in blocks or events other than workspace, or the
  // sizes do not ascend.
  TraceModel(Trace small, double small_size, Trace large, double large_size);

  // The trace of an input of `size`. Sizes below the small one are allowed, but less accurate.
  Trace at(double size) const;

  // The largest size, rounded down to an integer, at which `budget` bytes suffice: with LMS, or without it (is_enabled
  // false). At least 0.
  std::int64_t largest_size(std::int64_t budget, const MovableBlocks& movable,
                            bool is_enabled) const;

 private:
  double interpolate(double small, double large, double size) const;
  std::int64_t predicted_bytes(std::int64_t small, std::int64_t large, double size) const;

  Trace small_, large_;
  double small_size_, large_size_;
  std::vector<int> proportional_;  // blocks of workspace
};

}  // namespace tutti::lms
