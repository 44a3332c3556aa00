// Interfaces for moving bytes between ranks. Each transport directory implements `Transport`; the conformance suite in
// tests/conformance runs over all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/auth/secret.h"
#include "tutti/comm/base/stall_handler.h"
#include "tutti/core/result.h"

namespace tutti::comm {

class VendorCollectives;

// A message in flight. Destroying an incomplete transfer cancels it; its memory is not accessed afterwards.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Makes progress and sets `*finished` when the message is complete; only then may the memory be reused. A failure is
  // final.
  virtual Result test(bool* finished) = 0;
};

// Point-to-point messages. Between two ranks, messages of one channel arrive in the order in which they were sent. A
// receive must specify exactly the number of bytes sent. `send` never blocks, whatever the size, and need not send
// anything before a transfer to that peer is tested. Thread-safe; each transfer is used by one thread.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                         std::size_t bytes) = 0;
  virtual std::unique_ptr<Transfer> receive(int peer, int channel, void* data,
                                            std::size_t bytes) = 0;

  // Counter that grows whenever data has moved. Read it before testing the transfers and pass it to `wait` afterwards;
  // then no event between the two is missed.
  virtual std::uint64_t events() const { return 0; }
  // Blocks until data has moved since `seen` or may move now, for at most `nanoseconds`. Returns false immediately if
  // the wire cannot detect this; the caller must then poll.
  virtual bool wait(std::uint64_t /*seen*/, std::int64_t /*nanoseconds*/) { return false; }
};

// A short out-of-band message: a failure, a question about stalled ranks, or the reply.
struct OutOfBandMessage {
  int from = 0;
  std::string text;
};

// The ranks of a job and their bootstrap functions. Channels 0..kMaxChannel are available to the caller.
class Transport : public Wire {
 public:
  static constexpr int kMaxChannel = (1 << 22) - 1;

  virtual const char* name() const = 0;
  // Name of the transport, with the underlying library and its version; part of the key of the tuning cache.
  virtual std::string description() const { return name(); }
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Host name of this rank, for messages. It does not determine which ranks share memory.
  virtual std::string host_name() const = 0;
  // True if the ranks are threads of one process that emulate the hosts returned by `host_name`.
  virtual bool ranks_are_threads() const { return false; }
  // True if messages between ranks of one host already use shared memory.
  virtual bool has_pipes() const { return false; }
  // True if TcpWire is faster between hosts, unless the network has a fast fabric.
  virtual bool yields_to_tcp() const { return false; }
  // True if a process can start this transport only once; it is then kept for another attempt.
  virtual bool starts_once() const { return false; }
  // Collectives of the underlying library; nullptr if it has none.
  virtual VendorCollectives* vendor() { return nullptr; }
  // All-gather of one string per rank, indexed by rank. Collective and blocking; for set-up only.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // Sends an out-of-band message. Never blocks; callable from any thread. The message is lost if the peer has exited.
  virtual void notify(int peer, const std::string& text) = 0;
  virtual std::optional<OutOfBandMessage> next_oob_message() = 0;
  // Secret of the job, which authenticates connections between ranks. Empty if `exchange` is trusted to distribute one
  // (MPI).
  virtual std::optional<auth::Secret> secret() const { return std::nullopt; }
  // Marks a rank as lost: the shutdown of this transport does not wait for it. Callable from any thread.
  virtual void abandon() {}
  // Blocks until all ranks have called it, for transports whose shutdown is collective (MPI). There is no time limit:
  // `stall_handler` is called during the wait. The wait ends early, with false, after `abandon` or when `stall_handler`
  // returns a failure. Must be the last call before the destructor.
  virtual bool finish(StallHandler& /*stall_handler*/) { return true; }
};

}  // namespace tutti::comm
