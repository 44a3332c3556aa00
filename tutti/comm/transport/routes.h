// Selects the wire to each rank of the job: shared memory on the same host, TCP between hosts, or the transport itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/comm/transport/shm/pipe.h"
#include "tutti/comm/transport/tcp/tcp_wire.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/core/options.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

class Routes : public Wire {
 public:
  // Sends all messages through the transport, which must outlive this object.
  explicit Routes(Transport& transport) : transport_(transport) {}

  // Selects faster wires according to the option `wire`. Collective over the transport. `layout` lists the ranks of
  // each host. `secret` authenticates connections between hosts; it may be empty if there is only one host. With
  // wire=auto, TCP is used if the transport yields to it, unless a rank has a fast fabric (InfiniBand, Omni-Path,
  // Slingshot), which MPI uses better.
  void improve(const topo::Layout& layout, const Options& options,
               const std::optional<auth::Secret>& secret);

  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override {
    return wire_to(peer).send(peer, channel, data, bytes);
  }
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override {
    return wire_to(peer).receive(peer, channel, data, bytes);
  }
  std::uint64_t events() const override { return tcp_ ? tcp_->events() : transport_.events(); }
  // Only TCP traffic wakes the caller; if shared-memory pipes are busy, the wait is limited to 50 us.
  bool wait(std::uint64_t seen, std::int64_t nanoseconds) override;

 private:
  Wire& wire_to(int peer) const;

  Transport& transport_;
  std::vector<bool> is_local_;  // by rank
  std::unique_ptr<PipeSet> pipes_;
  std::unique_ptr<TcpWire> tcp_;
};

}  // namespace tutti::comm
