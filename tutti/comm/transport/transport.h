// How bytes get from rank to rank. Each transport folder implements `Transport`; the conformance
// suite in tests/conformance runs over all of them.
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

// A message under way. Destroying one that has not finished gives it up: the memory is not touched
// afterwards.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Makes progress and says whether the message is through; the memory may be reused only then.
  // A failure is final.
  virtual Result test(bool* finished) = 0;
};

// Messages between two ranks. Between a pair, messages of one channel arrive in the order they were
// sent; a receive must name exactly the bytes that were sent. `send` never waits, however large the
// message; nothing need leave before a transfer to that peer is tested. Safe from several threads
// at once, each transfer used by one.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                         std::size_t bytes) = 0;
  virtual std::unique_ptr<Transfer> receive(int peer, int channel, void* data,
                                            std::size_t bytes) = 0;

  // Grows whenever something has moved. Whoever waits takes it before testing its transfers and
  // gives it to `wait` after, so that nothing is missed in between.
  virtual std::uint64_t events() const { return 0; }
  // Sleeps until something has moved since `seen`, or may move now, at most `nanoseconds`. False at
  // once where the wire cannot tell: then the caller must look again by itself.
  virtual bool wait(std::uint64_t /*seen*/, std::int64_t /*nanoseconds*/) { return false; }
};

// A short message out of band: failure notices, stall questions and answers.
struct Notice {
  int from = 0;
  std::string text;
};

// A job's ranks and everything they need to meet. Channels 0..kMaxChannel are free for the caller.
class Transport : public Wire {
 public:
  static constexpr int kMaxChannel = (1 << 22) - 1;

  virtual const char* name() const = 0;
  // The name, with the library behind it and its version: jobs of one description are equally fast.
  virtual std::string description() const { return name(); }
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // What this rank's host calls itself: for messages, not for deciding who shares memory.
  virtual std::string host_name() const = 0;
  // The ranks are threads of one process, and pretend to be on the hosts that `host_name` returns.
  virtual bool ranks_are_threads() const { return false; }
  // Messages between ranks of one host pass through shared memory already.
  virtual bool has_pipes() const { return false; }
  // Over a plain network TCP of our own is faster between hosts.
  virtual bool yields_to_tcp() const { return false; }
  // A process can start it only once, so it is kept for another attempt.
  virtual bool starts_once() const { return false; }
  // The collectives of the library behind this transport; nullptr: there are none.
  virtual VendorCollectives* vendor() { return nullptr; }
  // Every rank gives its bytes and gets everyone's, by rank. Collective and blocking: for set-up
  // only.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // Never blocks, may be called from any thread; lost when the peer is gone.
  virtual void notify(int peer, const std::string& text) = 0;
  virtual std::optional<Notice> next_notice() = 0;
  // The secret that the ranks share since they met, by which they authenticate connections. None:
  // `exchange` is safe enough to agree on one (MPI).
  virtual std::optional<auth::Secret> secret() const { return std::nullopt; }
  // A rank is lost: the end of this transport shall not wait for it. Safe from every thread.
  virtual void give_up() {}
  // Blocks until all ranks have called it, where the transport cannot end before (MPI). There is no
  // time limit: `stall_handler` is asked while it waits, and `give_up` or a failure of
  // `stall_handler` ends the wait; then it returns false. The last call before the destructor.
  virtual bool finish(StallHandler& /*stall_handler*/) { return true; }
};

}  // namespace tutti::comm
