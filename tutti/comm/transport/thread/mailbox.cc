#include "tutti/comm/transport/thread/mailbox.h"

#include <cstring>
#include <utility>

#include "tutti/core/mutex.h"

namespace tutti::comm {

void Mailbox::send(int channel, std::shared_ptr<Post> post) {
  const MutexLock lock(mutex_);
  if (is_closed_) return;
  channels_[channel].sends.push_back(std::move(post));
  pair(channel);
}

void Mailbox::receive(int channel, std::shared_ptr<Post> post) {
  const MutexLock lock(mutex_);
  channels_[channel].receives.push_back(std::move(post));
  pair(channel);
}

void Mailbox::cancel(int channel, const std::shared_ptr<Post>& post) {
  const MutexLock lock(mutex_);
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  std::erase(found->second.sends, post);
  std::erase(found->second.receives, post);
}

void Mailbox::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  for (auto& [number, channel] : channels_) channel.sends.clear();
}

void Mailbox::set_paused(bool paused) {
  const MutexLock lock(mutex_);
  is_paused_ = paused;
  std::vector<int> numbers;
  for (const auto& [number, channel] : channels_) numbers.push_back(number);
  for (const int number : numbers) pair(number);
}

void Mailbox::pair(int number) {
  Channel& channel = channels_[number];
  while (!is_paused_ && !channel.sends.empty() && !channel.receives.empty()) {
    Post& sent = *channel.sends.front();
    Post& wanted = *channel.receives.front();
    sent.bytes_of_other_end = wanted.bytes;
    wanted.bytes_of_other_end = sent.bytes;
    const bool fits = sent.bytes == wanted.bytes;
    if (fits && sent.bytes > 0) std::memcpy(wanted.data, sent.data, sent.bytes);
    const Post::State state = fits ? Post::kDone : Post::kWrongSize;
    wanted.state.store(state, std::memory_order_release);
    if (!sent.is_copied) sent.state.store(state, std::memory_order_release);
    channel.sends.pop_front();
    channel.receives.pop_front();
  }
  if (channel.sends.empty() && channel.receives.empty()) channels_.erase(number);
}

}  // namespace tutti::comm
