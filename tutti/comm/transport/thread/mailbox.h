// Messages from one thread-rank to another: two queues per channel, sends and receives, matched in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "tutti/comm/transport/transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// One end of a message: the source of a send or the destination of a receive.
struct Post {
  enum State : int { kWaiting, kDone, kWrongSize };

  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t bytes_of_other_end = 0;
  bool is_copied = false;  // a send that completed when it was posted
  std::vector<std::byte> copy = {};
  std::atomic<State> state = kWaiting;
};

// Messages of one ordered pair of ranks. Thread-safe. The bytes are copied under the lock, which only these two ranks
// share, so the memory of a cancelled end is never accessed afterwards.
class Mailbox {
 public:
  void send(int channel, std::shared_ptr<Post> post);
  void receive(int channel, std::shared_ptr<Post> post);
  // Cancels the post; no effect if it has already been matched.
  void cancel(int channel, const std::shared_ptr<Post>& post);

  // Discards all queued and future sends.
  void close();
  // While paused, no messages are matched.
  void set_paused(bool paused);

 private:
  struct Channel {
    std::deque<std::shared_ptr<Post>> sends;
    std::deque<std::shared_ptr<Post>> receives;
  };
  void pair(int number) TUTTI_REQUIRES(mutex_);

  Mutex mutex_;
  std::map<int, Channel> channels_ TUTTI_GUARDED_BY(mutex_);  // channels that are not empty
  bool is_closed_ TUTTI_GUARDED_BY(mutex_) = false;
  bool is_paused_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::comm
