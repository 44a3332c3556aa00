#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/comm/transport/nccl/nccl_collectives.h"
#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::comm {
namespace {

TEST(WithoutNccl, ExplainsHowToEnableIt) {
  if (has_nccl()) GTEST_SKIP() << "this library has NCCL";
  const auto transport = ThreadWorld(1).transport(0);
  EXPECT_THAT([&] { start_nccl(*transport, 0, {{0}}); },
              testing::ThrowsMessage<ConfigError>(testing::HasSubstr("-DTUTTI_NCCL=ON")));
}

}  // namespace
}  // namespace tutti::comm
