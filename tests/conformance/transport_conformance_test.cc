#include "tests/conformance/transport_conformance.h"

#include <unistd.h>

#include <cstring>
#include <numeric>

#include "tests/conformance/forked_ranks.h"
#include "tutti/comm/transport/local/local_transport.h"
#include "tutti/comm/transport/shm/pipe.h"
#include "tutti/comm/transport/tcp/tcp_wire.h"
#include "tutti/comm/transport/tcp/test_port.h"
#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::comm {
namespace {

World thread_world(int ranks) {
  return {"Threads" + std::to_string(ranks), [ranks](const RankBody& body) {
            ThreadWorld world(ranks);
            world.run(body);
          }};
}

// Another transport whose messages use a separate wire.
class WithWire : public Transport {
 public:
  WithWire(Transport& base, Wire& wire) : base_(base), wire_(wire) {}

  const char* name() const override { return "with wire"; }
  int rank() const override { return base_.rank(); }
  int size() const override { return base_.size(); }
  std::string host_name() const override { return base_.host_name(); }
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override {
    return wire_.send(peer, channel, data, bytes);
  }
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override {
    return wire_.receive(peer, channel, data, bytes);
  }
  std::uint64_t events() const override { return wire_.events(); }
  bool wait(std::uint64_t seen, std::int64_t nanoseconds) override {
    return wire_.wait(seen, nanoseconds);
  }
  std::vector<std::string> exchange(const std::string& mine) override {
    return base_.exchange(mine);
  }
  void notify(int peer, const std::string& text) override { base_.notify(peer, text); }
  std::optional<OutOfBandMessage> next_oob_message() override { return base_.next_oob_message(); }

 private:
  Transport& base_;
  Wire& wire_;
};

World pipe_world(int ranks) {
  return {"Pipes" + std::to_string(ranks), [ranks](const RankBody& body) {
            ThreadWorld world(ranks);
            std::vector<int> all(static_cast<std::size_t>(ranks));
            std::iota(all.begin(), all.end(), 0);
            world.run([&](Transport& base) {
              PipeSet pipes(base.rank(), all);
              const MemoryHandle mine = pipes.handle();
              std::vector<MemoryHandle> handles;
              for (const std::string& text :
                   base.exchange({reinterpret_cast<const char*>(&mine), sizeof mine})) {
                std::memcpy(&handles.emplace_back(), text.data(), sizeof mine);
              }
              pipes.connect(handles).throw_if_error();
              WithWire transport(base, pipes);
              body(transport);
            });
          }};
}

World tcp_wire_world(int ranks) {
  return {"TcpWire" + std::to_string(ranks), [ranks](const RankBody& body) {
            ThreadWorld world(ranks);
            const auth::Secret secret = auth::Secret::generate();
            world.run([&](Transport& base) {
              TcpWire tcp(base.rank(), secret);
              tcp.connect(base.exchange(tcp.offer()));
              WithWire transport(base, tcp);
              body(transport);
              base.exchange("done");  // closing a connection with unread data discards the rest
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

// Over TCP, as if they were on several hosts.
World hosts_world(int ranks) {
  return {"Hosts" + std::to_string(ranks), [ranks](const RankBody& body) {
            const int port = free_port();
            run_forked(ranks, [&](int rank) {
              body(*start_local({rank, ranks, "hosts", 60, "localhost", port}));
            });
          }};
}

INSTANTIATE_TEST_SUITE_P(Thread, TransportConformance,
                         testing::Values(thread_world(2), thread_world(5)), world_name);
INSTANTIATE_TEST_SUITE_P(Pipe, TransportConformance, testing::Values(pipe_world(2), pipe_world(3)),
                         world_name);
INSTANTIATE_TEST_SUITE_P(Tcp, TransportConformance,
                         testing::Values(tcp_wire_world(2), tcp_wire_world(5), hosts_world(3)),
                         world_name);
INSTANTIATE_TEST_SUITE_P(Local, TransportConformance,
                         testing::Values(local_world(2), local_world(4)), world_name);

}  // namespace
}  // namespace tutti::comm
