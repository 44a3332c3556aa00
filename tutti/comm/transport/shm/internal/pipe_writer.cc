#include <algorithm>

#include "tutti/comm/transport/shm/internal/pipe_end.h"

namespace tutti::comm::internal {

void PipeWriter::post(Message* message) {
  queue_.push_back({message, message->channel});
  progress();
}

void PipeWriter::cancel(Message* message) {
  const auto entry = std::find_if(queue_.begin(), queue_.end(),
                                  [&](const Entry& e) { return e.message == message; });
  if (entry == queue_.end()) return;
  if (message->is_started) {
    entry->message = nullptr;
  } else {
    queue_.erase(entry);
  }
}

void PipeWriter::progress() {
  while (!queue_.empty()) {
    const Entry entry = queue_.front();
    const bool is_complete =
        entry.message ? write_fragment(*entry.message) : write_cancelled(entry.channel);
    if (!is_complete) return;
    if (entry.message && entry.message->moved < entry.message->bytes) continue;
    if (entry.message) entry.message->state = Message::State::kDone;
    queue_.pop_front();
  }
}

bool PipeWriter::write_fragment(Message& message) {
  const std::size_t bytes = std::min(kFragmentBytes, message.bytes - message.moved);
  const std::size_t wanted = kHeaderBytes + bytes + padding_of(bytes);
  if (ring_.room(wanted) < wanted) return false;
  const FragmentHeader header{message.channel, static_cast<std::uint32_t>(bytes), message.bytes};
  ring_.write(&header, kHeaderBytes);
  if (bytes > 0) ring_.write(message.data + message.moved, bytes);
  ring_.skip(padding_of(bytes));
  ring_.publish();
  message.is_started = true;
  message.moved += bytes;
  return true;
}

bool PipeWriter::write_cancelled(int channel) {
  if (ring_.room(kHeaderBytes) < kHeaderBytes) return false;
  const FragmentHeader header{channel, kCancelled, 0};
  ring_.write(&header, kHeaderBytes);
  ring_.publish();
  return true;
}

}  // namespace tutti::comm::internal
