#include "tutti/comm/transport/shm/pipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tutti/comm/transport/shm/internal/pipe_end.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

constexpr std::size_t kPageBytes = 4096;

// Layout of a segment: the controls of all incoming rings by sender, then, from the next page on, their bytes.
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

struct PipeSet::Peer : MessageEnds {
  Peer(std::shared_ptr<SharedMemory> memory, internal::RingWriter out, internal::RingReader in)
      : outgoing(std::move(memory)), writer(out), reader(in) {}
  void post_send(Message* message) override { writer.post(message); }
  void cancel_send(Message* message) override { writer.cancel(message); }
  void post_receive(Message* message) override { reader.post(message); }
  void cancel_receive(Message* message) override { reader.cancel(message); }

  std::shared_ptr<SharedMemory> outgoing;
  internal::PipeWriter writer;
  internal::PipeReader reader;
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
    if (!opened) return std::move(opened).with_context(fmt::format("pipe to rank {}", ranks_[i]));
    const internal::RingWriter writer(control_at(*outgoing, me), bytes_at(*outgoing, rings, me));
    const internal::RingReader reader(control_at(*incoming_, i), bytes_at(*incoming_, rings, i));
    peers_.push_back(std::make_unique<Peer>(std::move(outgoing), writer, reader));
  }
  return Result::ok();
}

MessageEnds& PipeSet::ends_to(int peer) {
  return *peers_[position_of(ranks_, peer)];
}

bool PipeSet::is_busy() {
  const MutexLock lock(mutex_);
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) {
    return !peer->writer.is_idle() || !peer->reader.is_idle();
  });
}

void PipeSet::progress() {
  for (const auto& peer : peers_) {
    if (!peer->writer.is_idle()) peer->writer.progress();
    if (!peer->reader.is_idle()) peer->reader.progress();
  }
}

}  // namespace tutti::comm
