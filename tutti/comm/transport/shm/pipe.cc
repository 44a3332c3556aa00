#include "tutti/comm/transport/shm/pipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tutti/comm/transport/shm/internal/pipe_end.h"
#include "tutti/comm/transport/wrong_size.h"

namespace tutti::comm {
namespace {

using internal::PipeMessage;

constexpr std::size_t kPageBytes = 4096;

// A segment: the controls of all incoming rings by sender, then from the next page on their bytes.
std::size_t bytes_offset(std::size_t rings) {
  return (rings * sizeof(internal::RingControl) + kPageBytes - 1) / kPageBytes * kPageBytes;
}
std::size_t segment_bytes(std::size_t rings) {
  return bytes_offset(rings) + rings * internal::kRingBytes;
}
internal::RingControl* control_at(const SharedMemory& segment, std::size_t sender) {
  return reinterpret_cast<internal::RingControl*>(segment.data()) + sender;
}
std::byte* bytes_at(const SharedMemory& segment, std::size_t rings, std::size_t sender) {
  return segment.data() + bytes_offset(rings) + sender * internal::kRingBytes;
}

std::size_t position_of(const std::vector<int>& ranks, int rank) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  if (found != ranks.end()) return static_cast<std::size_t>(std::distance(ranks.begin(), found));
  throw ConfigError("DDL-6-01", fmt::format("rank {} is not on this host, where ranks {} are.",
                                            rank, fmt::join(ranks, ", ")));
}

}  // namespace

struct PipeSet::Peer {
  std::shared_ptr<SharedMemory> outgoing;
  internal::PipeWriter writer;
  internal::PipeReader reader;
};

class PipeSet::SendTransfer : public Transfer {
 public:
  SendTransfer(PipeSet* set, Peer* peer, PipeMessage message)
      : set_(set), peer_(peer), message_(message) {
    const std::lock_guard lock(set_->mutex_);
    peer_->writer.post(&message_);
  }
  ~SendTransfer() override {
    const std::lock_guard lock(set_->mutex_);
    if (message_.state == PipeMessage::State::kWaiting) peer_->writer.withdraw(&message_);
  }
  SendTransfer(const SendTransfer&) = delete;
  SendTransfer& operator=(const SendTransfer&) = delete;

  Result test(bool* finished) override {
    const std::lock_guard lock(set_->mutex_);
    if (message_.state == PipeMessage::State::kWaiting) set_->progress();
    *finished = message_.state == PipeMessage::State::kDone;
    return Result::ok();
  }

 private:
  PipeSet* const set_;
  Peer* const peer_;
  PipeMessage message_;
};

class PipeSet::ReceiveTransfer : public Transfer {
 public:
  ReceiveTransfer(PipeSet* set, Peer* peer, PipeMessage message)
      : set_(set), peer_(peer), message_(message) {
    const std::lock_guard lock(set_->mutex_);
    peer_->reader.post(&message_);
  }
  ~ReceiveTransfer() override {
    const std::lock_guard lock(set_->mutex_);
    peer_->reader.withdraw(&message_);
  }
  ReceiveTransfer(const ReceiveTransfer&) = delete;
  ReceiveTransfer& operator=(const ReceiveTransfer&) = delete;

  Result test(bool* finished) override {
    const std::lock_guard lock(set_->mutex_);
    if (message_.state == PipeMessage::State::kWaiting) set_->progress();
    *finished = message_.state == PipeMessage::State::kDone;
    if (message_.state != PipeMessage::State::kWrongSize) return Result::ok();
    return wrong_size(message_.channel, message_.bytes, message_.bytes_of_other_end);
  }

 private:
  PipeSet* const set_;
  Peer* const peer_;
  PipeMessage message_;
};

PipeSet::PipeSet(int me, std::vector<int> ranks) : me_(me), ranks_(std::move(ranks)) {
  position_of(ranks_, me_);
  incoming_ = SharedMemory::create(segment_bytes(ranks_.size()));
}

PipeSet::~PipeSet() = default;

MemoryHandle PipeSet::handle() const {
  return incoming_->handle();
}

Result PipeSet::connect(std::span<const MemoryHandle> handles) {
  const std::size_t me = position_of(ranks_, me_);
  const std::size_t rings = ranks_.size();
  for (std::size_t i = 0; i < rings; ++i) {
    std::shared_ptr<SharedMemory> outgoing;
    Result opened = SharedMemory::open(handles[i], &outgoing);
    if (!opened) return std::move(opened).because(fmt::format("pipe to rank {}", ranks_[i]));
    const internal::RingWriter writer(control_at(*outgoing, me), bytes_at(*outgoing, rings, me));
    const internal::RingReader reader(control_at(*incoming_, i), bytes_at(*incoming_, rings, i));
    peers_.push_back(std::make_unique<Peer>(
        Peer{std::move(outgoing), internal::PipeWriter(writer), internal::PipeReader(reader)}));
  }
  return Result::ok();
}

PipeSet::Peer& PipeSet::peer_of(int rank) {
  return *peers_[position_of(ranks_, rank)];
}

std::unique_ptr<Transfer> PipeSet::send(int peer, int channel, const void* data,
                                        std::size_t bytes) {
  auto* const bytes_to_send = static_cast<std::byte*>(const_cast<void*>(data));
  return std::make_unique<SendTransfer>(
      this, &peer_of(peer), PipeMessage{.channel = channel, .data = bytes_to_send, .bytes = bytes});
}

std::unique_ptr<Transfer> PipeSet::receive(int peer, int channel, void* data, std::size_t bytes) {
  auto* const target = static_cast<std::byte*>(data);
  return std::make_unique<ReceiveTransfer>(
      this, &peer_of(peer), PipeMessage{.channel = channel, .data = target, .bytes = bytes});
}

void PipeSet::progress() {
  for (const auto& peer : peers_) {
    if (!peer->writer.is_idle()) peer->writer.progress();
    if (!peer->reader.is_idle()) peer->reader.progress();
  }
}

}  // namespace tutti::comm
