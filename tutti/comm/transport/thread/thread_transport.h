// Transport of one thread-rank, and the state shared by all ranks of a ThreadWorld.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/transport/thread/mailbox.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// State shared by the ranks of a ThreadWorld.
struct ThreadWorldState {
  ThreadWorldState(int ranks, std::vector<std::string> names, std::size_t most_copied)
      : size(ranks),
        copied_bytes(most_copied),
        host_names(std::move(names)),
        mailboxes(static_cast<std::size_t>(ranks) * ranks),
        inboxes(ranks),
        has_ended(ranks),
        is_killed(ranks),
        is_paused(ranks),
        exchanged(ranks),
        gathered(std::make_shared<std::vector<std::string>>()) {}

  Mailbox& mailbox(int from, int to) {
    return mailboxes[static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)];
  }
  // Throws ConfigError if `rank` is out of range.
  void check_rank(int rank) const;
  // -1 if no rank has ended.
  int first_ended() const TUTTI_REQUIRES(mutex);

  const int size;
  const std::size_t copied_bytes;  // messages up to this size are copied by `send`
  const std::vector<std::string> host_names;
  std::vector<Mailbox> mailboxes;  // one per ordered pair of ranks

  Mutex mutex;
  ConditionVariable changed;
  std::vector<std::deque<OutOfBandMessage>> inboxes TUTTI_GUARDED_BY(mutex);
  std::vector<bool> has_ended TUTTI_GUARDED_BY(mutex);  // the rank will not reach an exchange
  std::vector<bool> is_killed TUTTI_GUARDED_BY(mutex);
  std::vector<bool> is_paused TUTTI_GUARDED_BY(mutex);
  std::vector<std::string> exchanged TUTTI_GUARDED_BY(mutex);
  int arrived TUTTI_GUARDED_BY(mutex) = 0;
  // Result of the last exchange; a new object each time.
  std::shared_ptr<std::vector<std::string>> gathered TUTTI_GUARDED_BY(mutex);
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadWorldState> state, int rank)
      : state_(std::move(state)), rank_(rank) {}

  const char* name() const override { return "thread"; }
  bool ranks_are_threads() const override { return true; }
  bool has_pipes() const override { return true; }
  int rank() const override { return rank_; }
  int size() const override { return state_->size; }
  std::string host_name() const override { return state_->host_names[rank_]; }
  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override;
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override;
  std::vector<std::string> exchange(const std::string& mine) override;
  void notify(int peer, const std::string& text) override;
  std::optional<OutOfBandMessage> next_oob_message() override;

 private:
  const std::shared_ptr<ThreadWorldState> state_;
  const int rank_;
};

}  // namespace tutti::comm
