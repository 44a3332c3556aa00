#include "tests/conformance/transport_conformance.h"
#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::comm {
namespace {

World thread_world(int ranks) {
  return {"Threads" + std::to_string(ranks), [ranks](const RankBody& body) {
            ThreadWorld world(ranks);
            world.run(body);
          }};
}

INSTANTIATE_TEST_SUITE_P(Thread, TransportConformance,
                         testing::Values(thread_world(2), thread_world(3), thread_world(5)),
                         world_name);

}  // namespace
}  // namespace tutti::comm
