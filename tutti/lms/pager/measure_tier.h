// Measured speed of the lower tier.
#pragma once

#include <cstdint>

#include "tutti/lms/pager/swap_file.h"
#include "tutti/lms/simulator.h"

namespace tutti::lms {

struct DiskBandwidth {
  double write = 0, read = 0;  // bytes per second
};

// Writes and reads `bytes` bytes of the file, which frees them afterwards. Throws IoError (DDL-5-72) if a transfer fails.
DiskBandwidth measure_disk(SwapFile& file, std::int64_t bytes);

// Bandwidth of the disk and of the codecs.
Tier measure_tier(SwapFile& file);

}  // namespace tutti::lms
