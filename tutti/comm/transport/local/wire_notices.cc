#include "tutti/comm/transport/local/wire_notices.h"

#include <utility>

#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

constexpr int kSizes = 0;
constexpr int kTexts = 1;

bool is_through(Transfer& transfer) {
  bool finished = false;
  return transfer.test(&finished).is_ok() && finished;
}

}  // namespace

WireNotices::WireNotices(Wire& wire, int size) : wire_(wire) {
  for (int rank = 0; rank < size; ++rank) {
    incoming_.emplace_back().from = rank;
    expect_next(incoming_.back());
  }
}

void WireNotices::send(int peer, const std::string& text) {
  const MutexLock lock(mutex_);
  forget_sent();
  if (outgoing_.size() >= kMaxUnsent) return;
  Outgoing& notice = outgoing_.emplace_back();
  notice.text = text;
  notice.bytes = text.size();
  notice.size_transfer = wire_.send(peer, kSizes, &notice.bytes, sizeof notice.bytes);
  notice.text_transfer = wire_.send(peer, kTexts, notice.text.data(), notice.text.size());
  forget_sent();  // also sends it now: this may be the last call of this rank
}

std::optional<Notice> WireNotices::next() {
  const MutexLock lock(mutex_);
  forget_sent();
  for (auto incoming = incoming_.begin(); incoming != incoming_.end(); ++incoming) {
    if (!has_arrived(*incoming)) continue;
    Notice notice{incoming->from, std::move(incoming->text)};
    expect_next(*incoming);
    // Move to the back, so a rank that sends many notices does not starve the others.
    incoming_.splice(incoming_.end(), incoming_, incoming);
    return notice;
  }
  return std::nullopt;
}

void WireNotices::forget_sent() {
  std::erase_if(outgoing_, [](const Outgoing& notice) {
    return is_through(*notice.size_transfer) && is_through(*notice.text_transfer);
  });
}

void WireNotices::expect_next(Incoming& incoming) {
  incoming.text_transfer.reset();
  incoming.size_transfer =
      wire_.receive(incoming.from, kSizes, &incoming.bytes, sizeof incoming.bytes);
}

bool WireNotices::has_arrived(Incoming& incoming) {
  if (!incoming.text_transfer) {
    if (!is_through(*incoming.size_transfer)) return false;
    incoming.text.resize(incoming.bytes);
    incoming.text_transfer =
        wire_.receive(incoming.from, kTexts, incoming.text.data(), incoming.text.size());
  }
  return is_through(*incoming.text_transfer);
}

}  // namespace tutti::comm
