// Messages between the ranks of one host through shared memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tutti/comm/transport/message.h"
#include "tutti/comm/transport/shm/shared_memory.h"

namespace tutti::comm {

// A pipe between each pair of ranks of a host. The incoming pipes of a rank are in memory that it creates, 64 KiB per
// peer; only pipes that are used take pages. Messages are copied in and out. A message that arrives before its receive
// is queued in private memory if another receive from the same rank is waiting, otherwise it stays in the pipe.
class PipeSet : public MessageWire {
 public:
  // `ranks`: the ranks of this host, in the same order on all of them, including `me`. Throws MemoryError.
  PipeSet(int me, std::vector<int> ranks);
  ~PipeSet() override;
  PipeSet(const PipeSet&) = delete;
  PipeSet& operator=(const PipeSet&) = delete;

  // Handle that the peers need to connect to this rank.
  MemoryHandle handle() const;
  // Must be called once, before any message, with the handles of all ranks in the order of `ranks`.
  Result connect(std::span<const MemoryHandle> handles);
  // True if messages are in flight.
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
