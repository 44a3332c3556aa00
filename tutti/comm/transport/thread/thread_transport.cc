#include "tutti/comm/transport/thread/thread_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tutti/comm/transport/wrong_size.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

class ThreadTransfer : public Transfer {
 public:
  ThreadTransfer(std::shared_ptr<void> world, Mailbox* mailbox, int channel,
                 std::shared_ptr<Post> post)
      : world_(std::move(world)), mailbox_(mailbox), channel_(channel), post_(std::move(post)) {}
  ~ThreadTransfer() override {
    if (post_->state == Post::kWaiting) mailbox_->cancel(channel_, post_);
  }
  ThreadTransfer(const ThreadTransfer&) = delete;
  ThreadTransfer& operator=(const ThreadTransfer&) = delete;

  Result test(bool* finished) override {
    const Post::State state = post_->state.load(std::memory_order_acquire);
    *finished = state != Post::kWaiting;
    if (state != Post::kWrongSize) return Result::ok();
    return wrong_size(channel_, post_->bytes, post_->bytes_of_other_end);
  }

 private:
  const std::shared_ptr<void> world_;  // keeps the mailbox alive
  Mailbox* const mailbox_;
  const int channel_;
  const std::shared_ptr<Post> post_;
};

}  // namespace

void ThreadWorldState::check_rank(int rank) const {
  if (rank >= 0 && rank < size) return;
  throw ConfigError("DDL-6-01", fmt::format("invalid rank {}: ranks are 0 to {}.", rank, size - 1));
}

int ThreadWorldState::first_ended() const {
  for (int rank = 0; rank < size; ++rank) {
    if (has_ended[rank]) return rank;
  }
  return -1;
}

std::unique_ptr<Transfer> ThreadTransport::send(int peer, int channel, const void* data,
                                                std::size_t bytes) {
  state_->check_rank(peer);
  auto post = std::make_shared<Post>();
  post->bytes = bytes;
  post->data = static_cast<std::byte*>(const_cast<void*>(data));
  post->is_copied = bytes <= state_->copied_bytes;
  if (post->is_copied) {
    post->copy.assign(post->data, post->data + bytes);
    post->data = post->copy.data();
    post->state = Post::kDone;
  }
  Mailbox& mailbox = state_->mailbox(rank_, peer);
  mailbox.send(channel, post);
  return std::make_unique<ThreadTransfer>(state_, &mailbox, channel, std::move(post));
}

std::unique_ptr<Transfer> ThreadTransport::receive(int peer, int channel, void* data,
                                                   std::size_t bytes) {
  state_->check_rank(peer);
  auto post = std::make_shared<Post>();
  post->bytes = bytes;
  post->data = static_cast<std::byte*>(data);
  Mailbox& mailbox = state_->mailbox(peer, rank_);
  mailbox.receive(channel, post);
  return std::make_unique<ThreadTransfer>(state_, &mailbox, channel, std::move(post));
}

std::vector<std::string> ThreadTransport::exchange(const std::string& mine) {
  MutexLock lock(state_->mutex);
  const auto before = state_->gathered;
  state_->exchanged[rank_] = mine;
  if (++state_->arrived == state_->size) {
    state_->gathered = std::make_shared<std::vector<std::string>>(state_->exchanged);
    state_->arrived = 0;
    state_->changed.notify_all();
  }
  while (state_->gathered == before && state_->first_ended() < 0) state_->changed.wait(lock);
  if (state_->gathered != before) return *state_->gathered;
  throw CommError("DDL-6-03", fmt::format("rank {} ended during startup. Read its message.",
                                          state_->first_ended()));
}

void ThreadTransport::notify(int peer, const std::string& text) {
  state_->check_rank(peer);
  const MutexLock lock(state_->mutex);
  if (state_->is_killed[rank_] || state_->is_killed[peer]) return;
  state_->inboxes[peer].push_back({rank_, text});
}

std::optional<OutOfBandMessage> ThreadTransport::next_oob_message() {
  const MutexLock lock(state_->mutex);
  std::deque<OutOfBandMessage>& inbox = state_->inboxes[rank_];
  for (auto next = inbox.begin(); next != inbox.end(); ++next) {
    if (state_->is_paused[next->from]) continue;
    OutOfBandMessage message = std::move(*next);
    inbox.erase(next);
    return message;
  }
  return std::nullopt;
}

}  // namespace tutti::comm
