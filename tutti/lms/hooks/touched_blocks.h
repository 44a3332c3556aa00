// Blocks that a tensor uses.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tutti/lms/pager/pager.h"

namespace tutti::lms {

// Calls visit(first byte, bytes) for the ranges of the storage that the elements of a tensor occupy, in ascending
// order. Ranges with a distance of less than `gap` bytes are joined.
void for_each_range(const at::Tensor& tensor, std::int64_t gap,
                    const std::function<void(std::int64_t, std::int64_t)>& visit);

// Appends the blocks of the pager that the elements of a CPU tensor occupy; its storage may be an allocation of several
// segments of `segment_bytes`.
void add_touched_blocks(const at::Tensor& tensor, std::int64_t segment_bytes, Pager& pager,
                        std::vector<BlockRef>& refs);

}  // namespace tutti::lms
