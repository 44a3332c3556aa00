// The lower tier of a pager: where the content of blocks is stored while they are out of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::lms {

// Transfers are asynchronous. The caller chooses their ids. The memory and the extent must stay valid until is_done(id)
// returns true or wait(id) returns. wait() may be called by several threads, without the lock that guards the rest.
class BackingStore {
 public:
  struct Extent {
    std::int64_t offset = -1, bytes = 0;
    bool exists() const { return offset >= 0; }
  };

  virtual ~BackingStore() = default;

  // Space for `bytes` bytes, rounded up. Throws IoError (DDL-5-72) or MemoryError (DDL-5-79) if there is none.
  virtual Extent allocate(std::int64_t bytes) = 0;
  // Frees the extent, if it exists, and resets it. No transfer of it may be in flight.
  virtual void free(Extent& extent) = 0;

  virtual void start_write(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                           const std::byte* source) = 0;
  virtual void start_read(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                          std::byte* target) = 0;
  // Returns true if the transfer is complete. Does not block.
  virtual bool is_done(std::int64_t id) = 0;
  virtual void wait(std::int64_t id) = 0;
  // Result of a complete transfer: 0, io::FileQueue::kEndOfFile or errno.
  virtual int result(std::int64_t id) = 0;

  // For messages: "the swap file in /var/tmp".
  virtual std::string name() const = 0;
};

}  // namespace tutti::lms
