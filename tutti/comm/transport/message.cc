#include "tutti/comm/transport/message.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tutti/comm/transport/wrong_size.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

void Inbox::post(Message* receive) {
  ++waiting_;
  channels_[receive->channel].posted.push_back(receive);
  settle(receive->channel);
}

void Inbox::cancel(Message* receive) {
  if (receive->state != Message::State::kWaiting) return;
  --waiting_;
  if (current_.is_open && current_.receive == receive) return queue_current();
  std::erase(channels_[receive->channel].posted, receive);
  settle(receive->channel);
}

// A receive may match directly only if the unexpected-message queue of the channel is empty: queued messages are older.
void Inbox::begin(int number, std::size_t bytes) {
  current_ = {true, number, bytes, 0, nullptr, nullptr};
  Channel& channel = channels_[number];
  const bool is_awaited = !channel.posted.empty() && channel.unexpected.empty() &&
                          channel.posted.front()->bytes == bytes;
  if (!is_awaited) return queue_current();
  current_.receive = channel.posted.front();
  current_.target = current_.receive->data;
  channel.posted.pop_front();
}

void Inbox::arrived(std::size_t bytes) {
  current_.arrived += bytes;
  if (current_.arrived < current_.bytes) return;
  current_.is_open = false;
  if (current_.receive) {
    finish(*current_.receive, current_.bytes);
  } else {
    channels_[current_.channel].unexpected.back().is_complete = true;
  }
  settle(current_.channel);
}

void Inbox::discard() {
  Channel& channel = channels_[current_.channel];
  if (current_.receive) {
    channel.posted.push_front(current_.receive);
  } else {
    channel.unexpected.pop_back();
  }
  current_.is_open = false;
  settle(current_.channel);
}

void Inbox::queue_current() {
  UnexpectedMessage unexpected{std::make_unique_for_overwrite<std::byte[]>(current_.bytes),
                               current_.bytes};
  if (current_.arrived > 0) std::memcpy(unexpected.data.get(), current_.target, current_.arrived);
  current_.receive = nullptr;
  current_.target = unexpected.data.get();
  channels_[current_.channel].unexpected.push_back(std::move(unexpected));
}

void Inbox::settle(int number) {
  Channel& channel = channels_[number];
  while (!channel.posted.empty() && !channel.unexpected.empty() &&
         channel.unexpected.front().is_complete) {
    Message& receive = *channel.posted.front();
    const UnexpectedMessage& unexpected = channel.unexpected.front();
    if (unexpected.bytes == receive.bytes && unexpected.bytes > 0) {
      std::memcpy(receive.data, unexpected.data.get(), unexpected.bytes);
    }
    finish(receive, unexpected.bytes);
    channel.posted.pop_front();
    channel.unexpected.pop_front();
  }
  if (channel.posted.empty() && channel.unexpected.empty()) channels_.erase(number);
}

void Inbox::finish(Message& receive, std::size_t arrived_bytes) {
  --waiting_;
  receive.bytes_of_other_end = arrived_bytes;
  receive.state =
      arrived_bytes == receive.bytes ? Message::State::kDone : Message::State::kWrongSize;
}

void OwnEnds::post_send(Message* message) {
  inbox_.begin(message->channel, message->bytes);
  if (message->bytes > 0) std::memcpy(inbox_.write_position(), message->data, message->bytes);
  inbox_.arrived(message->bytes);
  message->state = Message::State::kDone;
}

class MessageWire::MessageTransfer : public Transfer {
 public:
  MessageTransfer(MessageWire* wire, int peer, bool is_send, const Message& message)
      : wire_(wire), is_send_(is_send), message_(message) {
    const MutexLock lock(wire_->mutex_);
    ends_ = &wire_->ends_to(peer);
    is_send_ ? ends_->post_send(&message_) : ends_->post_receive(&message_);
  }
  ~MessageTransfer() override {
    const MutexLock lock(wire_->mutex_);
    is_send_ ? ends_->cancel_send(&message_) : ends_->cancel_receive(&message_);
  }
  MessageTransfer(const MessageTransfer&) = delete;
  MessageTransfer& operator=(const MessageTransfer&) = delete;

  Result test(bool* finished) override {
    const MutexLock lock(wire_->mutex_);
    if (message_.state == Message::State::kWaiting) wire_->progress();
    *finished = message_.state == Message::State::kDone;
    if (*finished) return Result::ok();
    if (message_.state == Message::State::kWaiting) return ends_->trouble();
    return wrong_size(message_.channel, message_.bytes, message_.bytes_of_other_end);
  }

 private:
  MessageWire* const wire_;
  MessageEnds* ends_ = nullptr;
  const bool is_send_;
  Message message_;
};

std::unique_ptr<Transfer> MessageWire::send(int peer, int channel, const void* data,
                                            std::size_t bytes) {
  auto* const to_send = static_cast<std::byte*>(const_cast<void*>(data));  // only read
  return std::make_unique<MessageTransfer>(
      this, peer, true, Message{.channel = channel, .data = to_send, .bytes = bytes});
}

std::unique_ptr<Transfer> MessageWire::receive(int peer, int channel, void* data,
                                               std::size_t bytes) {
  return std::make_unique<MessageTransfer>(
      this, peer, false,
      Message{.channel = channel, .data = static_cast<std::byte*>(data), .bytes = bytes});
}

}  // namespace tutti::comm
