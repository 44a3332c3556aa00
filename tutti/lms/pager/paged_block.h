// Record of one block of a pager. Internal to the pager, which guards it with its mutex.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/lms/pager/backing_store.h"
#include "tutti/lms/pager/encoded_block.h"

namespace tutti::lms {

struct PagedBlock {
  enum class State : std::uint8_t { kEmpty, kResident, kWriting, kOut, kDropped, kReading };

  // A new allocation of the block, resident and unpinned.
  void renew(std::int64_t time) {
    state = State::kResident;
    is_used = is_evictable = true;
    ++serial;
    pins = 0;
    read_error = 0;
    last_use = time;
    next_use = 0;
  }
  bool can_leave() const {
    return is_used && is_evictable && pins == 0 && state == State::kResident && transfer == 0;
  }
  bool leaves_before(const PagedBlock& other) const {
    return next_use != other.next_use ? next_use > other.next_use : last_use < other.last_use;
  }
  // Bytes that become free when the transfer in flight is complete.
  std::int64_t leaving_bytes() const {
    const bool leaves = state == State::kWriting ? !is_cancelled : transfer != 0 && !is_used;
    return staging_bytes + (leaves ? bytes : 0);
  }
  // Bytes that a read needs while it is in flight.
  std::int64_t reading_bytes() const {
    return bytes + (encoding.exists() ? encoding.stored_bytes() : 0);
  }

  std::byte* address = nullptr;
  std::int64_t bytes = 0;
  std::int64_t reserved_bytes = 0;  // of address space
  int segments = 1;                 // number of blocks of the allocation; 0: not its first block
  bool is_segment = false;
  State state = State::kResident;
  bool is_used = false;  // false: freed
  bool is_evictable = true;
  bool is_cancelled = false;  // writing: the block was used again
  std::uint64_t serial = 0;   // of the allocation
  int pins = 0;
  int read_error = 0;  // of the last read; errno or io::FileQueue::kEndOfFile
  std::int64_t last_use = 0, next_use = 0;
  std::int64_t transfer = 0;       // id of the transfer in flight; 0: none
  std::byte* temporary = nullptr;  // reading: destination of the content
  std::byte* staging = nullptr;    // encoded content of the transfer in flight
  std::int64_t staging_bytes = 0;
  EncodedBlock encoding;  // of the content in the store
  BackingStore::Extent extent;
  std::uint32_t checksum = 0;
};

}  // namespace tutti::lms
