#include <algorithm>
#include <utility>

#include "tutti/comm/transport/shm/internal/pipe_end.h"

namespace tutti::comm::internal {

void PipeReader::post(PipeMessage* message) {
  ++waiting_;
  channels_[message->channel].posted.push_back(message);
  settle(message->channel);
  progress();
}

void PipeReader::withdraw(PipeMessage* message) {
  if (message->state != PipeMessage::State::kWaiting) return;
  --waiting_;
  if (current_.is_open && current_.receive == message) {
    stash_current();
    return;
  }
  std::erase(channels_[message->channel].posted, message);
  settle(message->channel);
}

void PipeReader::progress() {
  while (waiting_ > 0 && !ring_.is_empty()) {
    FragmentHeader header;
    ring_.read(&header, kHeaderBytes);
    if (header.bytes == kGivenUp) {
      give_up();
    } else {
      if (!current_.is_open) begin(header);
      read_fragment(header);
    }
    ring_.release();
  }
}

// A receive may take the message only when none of its channel waits in the stash: those came
// before.
void PipeReader::begin(const FragmentHeader& header) {
  current_ = {true, header.channel, header.message_bytes, 0, nullptr, nullptr};
  Channel& channel = channels_[header.channel];
  const bool is_awaited = !channel.posted.empty() && channel.stash.empty() &&
                          channel.posted.front()->bytes == header.message_bytes;
  if (!is_awaited) {
    stash_current();
    return;
  }
  current_.receive = channel.posted.front();
  current_.target = current_.receive->data;
  channel.posted.pop_front();
}

void PipeReader::read_fragment(const FragmentHeader& header) {
  if (header.bytes > 0) ring_.read(current_.target + current_.arrived, header.bytes);
  ring_.skip(padding_of(header.bytes));
  current_.arrived += header.bytes;
  if (current_.arrived == current_.bytes) complete();
}

void PipeReader::complete() {
  current_.is_open = false;
  if (current_.receive) {
    finish(*current_.receive, current_.bytes);
  } else {
    channels_[current_.channel].stash.back().is_complete = true;
  }
  settle(current_.channel);
}

// As if the message had never begun.
void PipeReader::give_up() {
  Channel& channel = channels_[current_.channel];
  if (current_.receive) {
    channel.posted.push_front(current_.receive);
  } else {
    channel.stash.pop_back();
  }
  current_.is_open = false;
  settle(current_.channel);
}

void PipeReader::stash_current() {
  Stashed stashed{std::make_unique_for_overwrite<std::byte[]>(current_.bytes), current_.bytes};
  if (current_.arrived > 0) std::memcpy(stashed.data.get(), current_.target, current_.arrived);
  current_.receive = nullptr;
  current_.target = stashed.data.get();
  channels_[current_.channel].stash.push_back(std::move(stashed));
}

void PipeReader::settle(int number) {
  Channel& channel = channels_[number];
  while (!channel.posted.empty() && !channel.stash.empty() && channel.stash.front().is_complete) {
    PipeMessage& receive = *channel.posted.front();
    const Stashed& stashed = channel.stash.front();
    if (stashed.bytes == receive.bytes && stashed.bytes > 0) {
      std::memcpy(receive.data, stashed.data.get(), stashed.bytes);
    }
    finish(receive, stashed.bytes);
    channel.posted.pop_front();
    channel.stash.pop_front();
  }
  if (channel.posted.empty() && channel.stash.empty()) channels_.erase(number);
}

void PipeReader::finish(PipeMessage& receive, std::size_t arrived_bytes) {
  --waiting_;
  receive.bytes_of_other_end = arrived_bytes;
  receive.state =
      arrived_bytes == receive.bytes ? PipeMessage::State::kDone : PipeMessage::State::kWrongSize;
}

}  // namespace tutti::comm::internal
