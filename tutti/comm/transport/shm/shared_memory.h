// Memory that several processes of one host map. It has no name in any file system (memfd), so a
// killed job leaves nothing behind and a small /dev/shm does not matter; peers open it through
// /proc/<pid>/fd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tutti/core/result.h"

namespace tutti::comm {

// Plain bytes; may be sent to a peer, which opens the memory with it while the creator lives.
struct MemoryHandle {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t nonce = 0;  // also at the end of the memory: no other is opened by accident
  std::uint64_t bytes = 0;
};

class SharedMemory {
 public:
  // Zeroed, page-aligned. Pages are taken when touched; `reserve` takes them at once. Throws
  // MemoryError with the amount wanted and free when the address space or memory cannot be had.
  static std::shared_ptr<SharedMemory> create(std::size_t bytes);
  // The memory another rank created, or a failure when it cannot be reached from here (other host,
  // other container, no permission). Opening a handle of this process gives the very same mapping.
  static Result open(const MemoryHandle& handle, std::shared_ptr<SharedMemory>* memory);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Takes the pages of [offset, offset + bytes) now, so that a full machine is an error here and
  // not a SIGBUS later.
  Result reserve(std::size_t offset, std::size_t bytes);
  // Gives back the whole pages inside the range; their content becomes zero. Only the creating
  // process can: elsewhere, also in its forked children, this does nothing.
  void release(std::size_t offset, std::size_t bytes);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return handle_.bytes; }
  const MemoryHandle& handle() const { return handle_; }

 private:
  SharedMemory() = default;
  MemoryHandle handle_;
  std::byte* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  bool is_owner_ = false;
};

}  // namespace tutti::comm
