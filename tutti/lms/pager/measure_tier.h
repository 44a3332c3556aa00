// Measured speed of the lower tier.
#pragma once

#include <cstdint>

#include "tutti/lms/pager/swap_file.h"
#include "tutti/lms/simulator.h"

namespace tutti::lms {

struct DiskBandwidth {
  double write = 0, read = 0;  // bytes per second
};

// Measures by writing and reading `bytes` bytes, in an extent of the file that is freed afterwards. Throws IoError
// (DDL-5-72) if a transfer fails.
DiskBandwidth measure_disk(SwapFile& file, std::int64_t bytes);

// Measures the bandwidth of the disk and of the codecs.
Tier measure_tier(SwapFile& file);

}  // namespace tutti::lms
