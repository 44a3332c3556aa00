// Collectives on CUDA device buffers through NCCL. CUDA types do not appear outside this directory.
#pragma once

#include <memory>
#include <vector>

#include "tutti/comm/transport/transport.h"
#include "tutti/comm/transport/vendor.h"

namespace tutti::comm {

// True if this library was built with NCCL (-DTUTTI_NCCL=ON).
bool has_nccl();

// Collectives for buffers on `device`, over the given groups of ranks only. Collective over `transport`: every rank
// lists the same groups in the same order, including groups that it is not a member of. Supports all dtypes and
// operations. Counts may differ between members; equal counts are faster. Throws ConfigError without NCCL, and
// CommError if NCCL cannot be initialized.
std::unique_ptr<VendorCollectives> start_nccl(Transport& transport, int device,
                                              const std::vector<std::vector<int>>& groups);

}  // namespace tutti::comm
