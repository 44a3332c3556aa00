// Replaces the sources of this directory in a build without NCCL.
#include "tutti/comm/transport/nccl/nccl_collectives.h"

namespace tutti::comm {

bool has_nccl() {
  return false;
}

std::unique_ptr<VendorCollectives> start_nccl(Transport&, int,
                                              const std::vector<std::vector<int>>&) {
  throw ConfigError("DDL-6-30",
                    "this library was built without NCCL: install CUDA and NCCL and build with "
                    "-DTUTTI_NCCL=ON, or keep the buffers in host memory.");
}

}  // namespace tutti::comm
