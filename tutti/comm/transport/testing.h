// Helpers for tests of transports.
#pragma once

#include <gtest/gtest.h>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// Makes progress on the transfer and returns true once it is complete. A failed transfer fails the test.
inline bool is_complete(Transfer& transfer) {
  bool finished = false;
  EXPECT_TRUE(transfer.test(&finished).is_ok());
  return finished;
}

}  // namespace tutti::comm
