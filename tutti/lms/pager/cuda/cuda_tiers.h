// Tiers of a pager for blocks of CUDA device memory.
#pragma once

#include "tutti/lms/pager/cuda/driver_api.h"
#include "tutti/lms/pager/pager.h"

namespace tutti::lms::cuda {

// `stream`: the stream of all kernels that use the blocks; nullptr: the default stream. A thread must pin blocks before
// it launches a kernel that uses them, because device memory has no fault handler, and may unpin them right after. The
// driver must outlive the pager. Encodings and verification do not apply to device memory.
PagerTiers make_tiers(const Driver& driver, Stream stream = nullptr);

}  // namespace tutti::lms::cuda
