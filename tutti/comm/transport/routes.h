// By which wire each rank of the job is reached: through shared memory on the same host, over TCP
// between hosts, or however the transport does it.
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
  // All messages go by the transport, which must outlive this.
  explicit Routes(Transport& transport) : transport_(transport) {}

  // Finds better ways, as the option `wire` says. Collective over the transport; `layout` says who
  // shares a host, `secret` authenticates connections between hosts (none: there is one host).
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
  // Only what comes over TCP wakes; where other wires are busy too, the sleep is short.
  bool wait(std::uint64_t seen, std::int64_t nanoseconds) override;

 private:
  Wire& wire_to(int peer) const;

  Transport& transport_;
  std::vector<bool> is_local_;  // by rank
  std::unique_ptr<PipeSet> pipes_;
  std::unique_ptr<TcpWire> tcp_;
};

}  // namespace tutti::comm
