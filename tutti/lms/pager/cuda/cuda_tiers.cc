#include "tutti/lms/pager/cuda/cuda_tiers.h"

#include "tutti/lms/pager/cuda/device_memory.h"
#include "tutti/lms/pager/cuda/pinned_slabs.h"

namespace tutti::lms::cuda {

PagerTiers make_tiers(const Driver& driver, Stream stream) {
  return {std::make_unique<DeviceMemory>(driver, stream),
          std::make_unique<PinnedSlabs>(driver, stream)};
}

}  // namespace tutti::lms::cuda
