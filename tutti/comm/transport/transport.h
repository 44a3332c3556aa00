// How bytes get from rank to rank. Each transport folder implements `Transport`; the conformance
// suite in tests/conformance runs over all of them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/core/result.h"

namespace tutti::comm {

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
// sent; a receive must name exactly the bytes that were sent. `send` may return before the receiver
// has called `receive`, however large the message; it never waits. Calls on one object come from
// one thread at a time.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                         std::size_t bytes) = 0;
  virtual std::unique_ptr<Transfer> receive(int peer, int channel, void* data,
                                            std::size_t bytes) = 0;
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
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // What this rank's host calls itself: for messages, not for deciding who shares memory.
  virtual std::string host_name() const = 0;
  // Every rank gives its bytes and gets everyone's, by rank. Collective and blocking: for set-up
  // only.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // Never blocks, may be called from any thread; lost when the peer is gone.
  virtual void notify(int peer, const std::string& text) = 0;
  virtual std::optional<Notice> next_notice() = 0;
  // A rank is lost: the end of this transport shall not wait for it. Safe from every thread.
  virtual void give_up() {}
};

}  // namespace tutti::comm
