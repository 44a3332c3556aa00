// What one thread-rank sends to another: two queues per channel, sends and receives, paired in
// order.
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

// One end of a message: what a send offers or where a receive wants it.
struct Post {
  enum State : int { kWaiting, kDone, kWrongSize };

  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t bytes_of_other_end = 0;
  bool is_copied = false;  // a send that was reported done when it was posted
  std::vector<std::byte> copy = {};
  std::atomic<State> state = kWaiting;
};

// From one rank to one other. Safe from every thread. The bytes are moved under the lock, which
// only the two ranks share: so an end that is withdrawn is never touched afterwards.
class Mailbox {
 public:
  void send(int channel, std::shared_ptr<Post> post);
  void receive(int channel, std::shared_ptr<Post> post);
  // As if it had never been posted, unless it was paired already.
  void withdraw(int channel, const std::shared_ptr<Post>& post);

  // What is and will be sent is lost.
  void close();
  // While paused nothing is paired.
  void set_paused(bool paused);

 private:
  struct Channel {
    std::deque<std::shared_ptr<Post>> sends;
    std::deque<std::shared_ptr<Post>> receives;
  };
  void pair(int number) TUTTI_REQUIRES(mutex_);

  Mutex mutex_;
  std::map<int, Channel> channels_ TUTTI_GUARDED_BY(mutex_);  // those with something in them
  bool is_closed_ TUTTI_GUARDED_BY(mutex_) = false;
  bool is_paused_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::comm
