// Operators of libtorch in tiles: an operator on large tensors runs as a sequence of operators on parts of them.
//
// An operator and all its tensors must be resident together, so the largest one determines the smallest budget of large
// model support. In tiles, only the parts that one tile uses must be. The operators in the list of README.md are
// intercepted between autograd and the backend, so networks, autograd's formulas and saved tensors do not change, and
// forward and backward operators are tiled by the same code.
//
// Results agree with those of the untiled operators to rounding: the gradients of the weights of convolutions are
// summed in tiles, and libtorch may choose another algorithm for a tile. They depend on the size of the tiles, but not
// on the memory budget.
#pragma once

#include <ATen/core/operator_name.h>

#include <cstdint>

namespace tutti::lms {

// Sets the tile size of all threads: from now on, operators whose tensors together exceed `bytes` run in tiles of about
// this size. 0: operators run untiled. Other threads must not run operators during the first call.
void set_tile_bytes(std::int64_t bytes);

// True if the operator is intercepted: on large tensors it runs in tiles, on others it calls itself again.
bool is_tiled(const c10::OperatorName& name);

// True while this thread executes a tiled operator. The operators that it calls then work on one tile.
bool is_in_tiled_operator();

// Calls that ran in tiles since the start of the process.
std::int64_t tiled_calls();

}  // namespace tutti::lms
