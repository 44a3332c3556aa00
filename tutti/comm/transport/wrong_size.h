// Failure for messages whose two ends specify different sizes.
#pragma once

#include <cstddef>

#include "tutti/core/result.h"

namespace tutti::comm {

// Returns failure DDL-6-02, which names both sizes.
Result wrong_size(int channel, std::size_t bytes_here, std::size_t bytes_there);

}  // namespace tutti::comm
