// Options of one call of a communicator.
#pragma once

#include <string_view>

#include "tutti/comm/compression.h"

namespace tutti::comm {

struct CallOptions {
  // The tensor's or bucket's name: in messages and traces, and part of what ranks must agree on.
  std::string_view name = {};
  // all_reduce of f32 sums and averages only: what travels between hosts is shortened. Give each
  // tensor its own name: what int8 and top-k leave out is kept under it and goes with its next
  // call.
  Codec compression = Codec();
  // Seconds this call waits for its peers; 0: as long as the option `timeout` says.
  double timeout = 0;
};

}  // namespace tutti::comm
