// Shared-memory control block of the ranks of one host: flags, the current operation of each rank, small messages and
// staging memory. One per communicator and host. Every cache line has one writer, its rank, except `claim`.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/comm/transport/shm/flag.h"

namespace tutti::comm {

inline constexpr int kMaxLanes = 64;
inline constexpr std::size_t kEagerBytes = plan::kMaxSlotBytes;  // size of a slot

using plan::stage_bytes;

// Location of a rank's buffers of the running operation in its arena.
struct MemoryPost {
  Flag flag;  // number of the operation (turn) that the post belongs to
  std::uint64_t fingerprint;
  Location input, output;  // segment < 0: not in library memory
};

// Flag, fingerprint and the first bytes share a cache line, so the smallest messages cost one transfer between cores.
struct alignas(64) EagerSlot {
  Flag flag;
  std::uint64_t fingerprint;
  std::byte payload[kEagerBytes];
};

struct StageSlot {
  std::byte* in;   // stage_bytes: slices of this rank that others reduce, each at its offset
  std::byte* out;  // the slice that this rank reduced
};

// Failure of a rank. The other ranks fail with the same message.
struct FailureNote {
  std::atomic<std::uint32_t> is_written;
  std::uint32_t kind;
  char code[16];
  char message[1000];
};

// The point-to-point message that blocks a rank.
struct BlockedMessage {
  enum class Kind : std::uint32_t { kNone, kSend, kReceive };
  std::atomic<std::uint32_t> kind;
  std::atomic<std::int32_t> peer;  // -1: any rank
  std::atomic<std::int32_t> tag;
  std::atomic<std::uint32_t> dtype;
  std::atomic<std::int64_t> count;
  std::atomic<std::int64_t> since_ticks;
};

struct RankBlock {
  // Identity and progress of the rank. Peers read it only after a long wait.
  alignas(64) std::atomic<std::uint32_t> process;
  std::atomic<std::uint32_t> has_left;    // left cleanly; not a failure
  std::atomic<std::uint64_t> completed;   // sequence number of its last completed operation
  std::atomic<std::int64_t> moved_ticks;  // time when it last entered or left the library
  std::atomic<std::int64_t> away_ticks;   // time spent outside before it last entered
  std::atomic<std::uint32_t> is_inside;
  std::atomic<std::uint32_t> record_version;  // odd while the record is being written
  alignas(64) std::array<std::atomic<std::uint64_t>, 8> record;

  alignas(64) BlockedMessage message;
  std::atomic<std::int32_t> open_sends;  // sends of this rank that are in flight

  alignas(64) FailureNote failure;

  alignas(64) MemoryPost post;
  Location scratch;
  // Fingerprints of planned operations, alternating: a member that has passed its only host barrier may already be in
  // the next operation.
  std::array<std::uint64_t, 2> plan_fingerprints;
  alignas(64) Flag done;
  alignas(64) Flag stage_in;
  alignas(64) Flag stage_out;
  // High half: number of the operation (turn). Low half: next piece of this rank's slice that no rank has taken.
  alignas(64) std::atomic<std::uint64_t> claim;
  alignas(64) std::array<Flag, kMaxLanes> lanes;

  alignas(4096) std::array<EagerSlot, 2> eager;
};

class HostControlBlock {
 public:
  static std::size_t bytes_for(int ranks) {
    return (sizeof(RankBlock) + 2 * slot_bytes(ranks)) * static_cast<std::size_t>(ranks);
  }
  HostControlBlock() = default;
  // `memory` must be zero when the first rank maps it.
  HostControlBlock(std::shared_ptr<SharedMemory> memory, int ranks)
      : memory_(std::move(memory)), ranks_(ranks) {}

  RankBlock& block(int member) const {
    return reinterpret_cast<RankBlock*>(memory_->data())[member];
  }
  // One of the two stages of `member`.
  StageSlot stage(int member, std::uint32_t which) const {
    const std::size_t number = static_cast<std::size_t>(2 * member) + which;
    std::byte* const slots = memory_->data() + sizeof(RankBlock) * static_cast<std::size_t>(ranks_);
    std::byte* const in = slots + number * slot_bytes(ranks_);
    return {in, in + stage_bytes(ranks_)};
  }
  int ranks() const { return ranks_; }

  // The current or last operation of `member`. Consistent even while the member continues.
  OpRecord record_of(int member) const;
  void write_record(int member, const OpRecord& record) const;
  // True if `member` was outside the library for most of this time (now_ns).
  bool was_away(int member, std::int64_t begin_ns, std::int64_t end_ns) const;
  // The first failure that a member published, or success.
  Result failure_of(int member) const;
  void write_failure(int member, const Result& failure) const;

 private:
  // A slice has up to one cache line more than its share.
  static constexpr std::size_t slot_bytes(int ranks) {
    const std::size_t slice = stage_bytes(ranks) / static_cast<std::size_t>(ranks) + 64;
    return stage_bytes(ranks) + (slice + 4095) / 4096 * 4096;
  }

  std::shared_ptr<SharedMemory> memory_;
  int ranks_ = 0;
};

}  // namespace tutti::comm
