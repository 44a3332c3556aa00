// What every transport says when the two ends of a message disagree.
#pragma once

#include <cstddef>

#include "tutti/core/result.h"

namespace tutti::comm {

// Failure DDL-6-02 that names both sizes.
Result wrong_size(int channel, std::size_t bytes_here, std::size_t bytes_there);

}  // namespace tutti::comm
