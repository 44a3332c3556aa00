// Messages between the ranks of one host through shared memory.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tutti/comm/transport/shm/shared_memory.h"
#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// A pipe from each rank of a host to each other. A rank's incoming pipes lie in memory it creates,
// 64 KiB per peer, of which only those that are used take pages. Messages are copied in and out
// again; one that arrives before its receive is kept in ordinary memory when another receive from
// the same rank is waiting, else in the pipe.
//
// Any transfer's `test` drives all of them. A transfer must end before its PipeSet. Unlike other
// wires it may be used by several threads at once, each transfer by one.
class PipeSet : public Wire {
 public:
  // `ranks`: those of this host, in the same order at each of them; `me` is one. Throws
  // MemoryError.
  PipeSet(int me, std::vector<int> ranks);
  ~PipeSet() override;
  PipeSet(const PipeSet&) = delete;
  PipeSet& operator=(const PipeSet&) = delete;

  // What the peers need to reach me.
  MemoryHandle handle() const;
  // To be called once, before any message, with everyone's handle in the order of `ranks`.
  Result connect(std::span<const MemoryHandle> handles);

  // A peer must be among `ranks`, else ConfigError; it may be this rank itself.
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override;
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override;

 private:
  struct Peer;
  class SendTransfer;
  class ReceiveTransfer;
  Peer& peer_of(int rank);
  void progress();  // with the lock held

  const int me_;
  const std::vector<int> ranks_;
  std::shared_ptr<SharedMemory> incoming_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Peer>> peers_;  // in the order of ranks_
};

}  // namespace tutti::comm
