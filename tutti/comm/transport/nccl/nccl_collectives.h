// Collectives of buffers on CUDA devices, through NCCL. CUDA's own types stay in this folder.
#pragma once

#include <memory>
#include <vector>

#include "tutti/comm/transport/transport.h"
#include "tutti/comm/transport/vendor.h"

namespace tutti::comm {

// Whether this library was built with NCCL (-DTUTTI_NCCL=ON).
bool has_nccl();

// For this rank's buffers on `device`, over the groups of ranks given (and no others). Collective
// over `transport`: every rank lists the same groups in the same order, also those it is not in.
// All dtypes and operations; counts may differ between members, equal ones are faster. Throws
// ConfigError without NCCL and CommError when it cannot start.
std::unique_ptr<VendorCollectives> start_nccl(Transport& transport, int device,
                                              const std::vector<std::vector<int>>& groups);

}  // namespace tutti::comm
