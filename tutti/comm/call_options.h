// Options of one call of a communicator.
#pragma once

#include <string_view>

#include "tutti/comm/compression.h"

namespace tutti::comm {

struct CallOptions {
  // Name of the tensor or bucket, shown in messages and traces. Ranks must agree on it.
  std::string_view name = {};
  // Compression between hosts; only for all_reduce of f32 sums and averages. Give each tensor a different name: the
  // residuals of int8 and top-k are stored under it and added to the next call with that name.
  Codec compression = Codec();
  // Timeout of this call in seconds; 0: the option `timeout`.
  double timeout = 0;
};

}  // namespace tutti::comm
