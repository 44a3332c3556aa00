// What tests of transports share.
#pragma once

#include <gtest/gtest.h>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// Whether the transfer is done; pushes it on. Fails the test when it went wrong.
inline bool is_through(Transfer& transfer) {
  bool finished = false;
  EXPECT_TRUE(transfer.test(&finished).is_ok());
  return finished;
}

}  // namespace tutti::comm
