// Messages between the ranks of one host through shared memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tutti/comm/transport/message.h"
#include "tutti/comm/transport/shm/shared_memory.h"

namespace tutti::comm {

// A pipe from each rank of a host to each other. A rank's incoming pipes lie in memory it creates,
// 64 KiB per peer, of which only those that are used take pages. Messages are copied in and out
// again; one that arrives before its receive is kept in ordinary memory when another receive from
// the same rank is waiting, else in the pipe.
class PipeSet : public MessageWire {
 public:
  // `ranks`: those of this host, in the same order at each of them; `me` is one. Throws
  // MemoryError.
  PipeSet(int me, std::vector<int> ranks);
  ~PipeSet() override;
  PipeSet(const PipeSet&) = delete;
  PipeSet& operator=(const PipeSet&) = delete;

  // What the peers need to reach me.
  MemoryHandle handle() const;
  // To be called once, before any message, with everyone's handle in the order of `ranks`. Peers
  // must be among those; this rank itself is one.
  Result connect(std::span<const MemoryHandle> handles);
  // Messages are under way.
  bool is_busy();

 private:
  struct Peer;
  MessageEnds& ends_to(int peer) override;
  void progress() override;

  const int me_;
  const std::vector<int> ranks_;
  std::shared_ptr<SharedMemory> incoming_;
  std::vector<std::unique_ptr<Peer>> peers_;  // in the order of ranks_
};

}  // namespace tutti::comm
