#include "tutti/comm/transport/local/wire_oob_channel.h"

#include <utility>

#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

constexpr int kSizes = 0;
constexpr int kTexts = 1;

bool is_complete(Transfer& transfer) {
  bool finished = false;
  return transfer.test(&finished).is_ok() && finished;
}

}  // namespace

WireOobChannel::WireOobChannel(Wire& wire, int size) : wire_(wire) {
  for (int rank = 0; rank < size; ++rank) {
    incoming_.emplace_back().from = rank;
    expect_next(incoming_.back());
  }
}

void WireOobChannel::send(int peer, const std::string& text) {
  const MutexLock lock(mutex_);
  forget_sent();
  if (outgoing_.size() >= kMaxUnsent) return;
  Outgoing& message = outgoing_.emplace_back();
  message.text = text;
  message.bytes = text.size();
  message.size_transfer = wire_.send(peer, kSizes, &message.bytes, sizeof message.bytes);
  message.text_transfer = wire_.send(peer, kTexts, message.text.data(), message.text.size());
  forget_sent();  // also sends it now: this may be the last call of this rank
}

std::optional<OutOfBandMessage> WireOobChannel::next() {
  const MutexLock lock(mutex_);
  forget_sent();
  for (auto incoming = incoming_.begin(); incoming != incoming_.end(); ++incoming) {
    if (!has_arrived(*incoming)) continue;
    OutOfBandMessage message{incoming->from, std::move(incoming->text)};
    expect_next(*incoming);
    // Move to the back, so a rank that sends many messages does not starve the others.
    incoming_.splice(incoming_.end(), incoming_, incoming);
    return message;
  }
  return std::nullopt;
}

void WireOobChannel::forget_sent() {
  std::erase_if(outgoing_, [](const Outgoing& message) {
    return is_complete(*message.size_transfer) && is_complete(*message.text_transfer);
  });
}

void WireOobChannel::expect_next(Incoming& incoming) {
  incoming.text_transfer.reset();
  incoming.size_transfer =
      wire_.receive(incoming.from, kSizes, &incoming.bytes, sizeof incoming.bytes);
}

bool WireOobChannel::has_arrived(Incoming& incoming) {
  if (!incoming.text_transfer) {
    if (!is_complete(*incoming.size_transfer)) return false;
    incoming.text.resize(incoming.bytes);
    incoming.text_transfer =
        wire_.receive(incoming.from, kTexts, incoming.text.data(), incoming.text.size());
  }
  return is_complete(*incoming.text_transfer);
}

}  // namespace tutti::comm
