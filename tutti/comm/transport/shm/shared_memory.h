// Memory shared by several processes of one host. It has no name in any file system (memfd), so a killed job leaves
// nothing behind and a small /dev/shm does not matter. Peers open it through /proc/<pid>/fd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tutti/core/result.h"

namespace tutti::comm {

// Trivially copyable; can be sent to a peer, which opens the memory with it while the creator is alive.
struct MemoryHandle {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t nonce =
      0;  // also stored at the end of the memory, so no other file is opened by accident
  std::uint64_t bytes = 0;
};

class SharedMemory {
 public:
  // Creates zeroed, page-aligned memory. Pages are allocated on first access, or by `reserve`. Throws MemoryError with
  // the requested and the free amount if addresses or memory are not available.
  static std::shared_ptr<SharedMemory> create(std::size_t bytes);
  // Opens the memory of another rank. Fails if it is not accessible from here (other host, other container, no
  // permission). A handle of this process returns the same mapping.
  static Result open(const MemoryHandle& handle, std::shared_ptr<SharedMemory>* memory);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Allocates the pages of [offset, offset + bytes) now, so a full host is reported as an error here instead of a
  // SIGBUS later.
  Result reserve(std::size_t offset, std::size_t bytes);
  // Releases the full pages inside the range; their content becomes zero. Works only in the creating process;
  // elsewhere, also in forked children, it does nothing.
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
