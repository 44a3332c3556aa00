#include "tests/conformance/transport_conformance.h"

#include <unistd.h>

#include <cstring>
#include <numeric>

#include "tests/conformance/forked_ranks.h"
#include "tutti/comm/transport/local/local_transport.h"
#include "tutti/comm/transport/shm/pipe.h"
#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::comm {
namespace {

World thread_world(int ranks) {
  return {"Threads" + std::to_string(ranks), [ranks](const RankBody& body) {
            ThreadWorld world(ranks);
            world.run(body);
          }};
}

// Another transport whose messages go through pipes.
class WithPipes : public Transport {
 public:
  explicit WithPipes(Transport& base) : base_(base), pipes_(base.rank(), all_ranks(base.size())) {
    const MemoryHandle mine = pipes_.handle();
    std::vector<MemoryHandle> handles;
    for (const std::string& text :
         base.exchange({reinterpret_cast<const char*>(&mine), sizeof mine})) {
      std::memcpy(&handles.emplace_back(), text.data(), sizeof mine);
    }
    pipes_.connect(handles).raise();
  }

  const char* name() const override { return "pipes"; }
  int rank() const override { return base_.rank(); }
  int size() const override { return base_.size(); }
  std::string host_name() const override { return base_.host_name(); }
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override {
    return pipes_.send(peer, channel, data, bytes);
  }
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override {
    return pipes_.receive(peer, channel, data, bytes);
  }
  std::vector<std::string> exchange(const std::string& mine) override {
    return base_.exchange(mine);
  }
  void notify(int peer, const std::string& text) override { base_.notify(peer, text); }
  std::optional<Notice> next_notice() override { return base_.next_notice(); }

 private:
  static std::vector<int> all_ranks(int size) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  Transport& base_;
  PipeSet pipes_;
};

World pipe_world(int ranks) {
  return {"Pipes" + std::to_string(ranks), [ranks](const RankBody& body) {
            ThreadWorld world(ranks);
            world.run([&](Transport& base) {
              WithPipes transport(base);
              body(transport);
            });
          }};
}

World local_world(int ranks) {
  return {"Processes" + std::to_string(ranks), [ranks](const RankBody& body) {
            static int jobs = 0;
            const std::string id = std::to_string(getpid()) + "." + std::to_string(++jobs);
            run_forked(ranks, [&](int rank) { body(*start_local({rank, ranks, id})); });
          }};
}

INSTANTIATE_TEST_SUITE_P(Thread, TransportConformance,
                         testing::Values(thread_world(2), thread_world(5)), world_name);
INSTANTIATE_TEST_SUITE_P(Pipe, TransportConformance, testing::Values(pipe_world(2), pipe_world(3)),
                         world_name);
INSTANTIATE_TEST_SUITE_P(Local, TransportConformance,
                         testing::Values(local_world(2), local_world(4)), world_name);

}  // namespace
}  // namespace tutti::comm
