// The upper tier of a pager: address space and memory of its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tutti/lms/pager/mapping.h"

namespace tutti::lms {

// Blocks keep their address while their memory comes and goes. Addresses and sizes are multiples of granularity().
// Functions marked "Throws" throw MemoryError: DDL-5-73 in host memory, DDL-5-79 in device memory. Not thread-safe.
class BlockMemory {
 public:
  virtual ~BlockMemory() = default;

  virtual std::int64_t granularity() const = 0;  // bytes
  // True if the CPU can access the blocks, so contents can be encoded and verified, and faults be served.
  virtual bool is_host() const = 0;
  // Reserves address space without memory: `most` bytes, or less if the system has less, but at least `least`. Called
  // once; the destructor releases the range and the memory in it. Throws.
  virtual Reservation reserve(std::int64_t most, std::int64_t least) = 0;
  // Provides memory with undefined content for a range that has none. Throws.
  virtual void supply(std::byte* address, std::int64_t bytes) = 0;
  // While a block is not writable, a store by code without a pin raises SIGSEGV. No effect in device memory. Throws.
  virtual void set_writable(std::byte* address, std::int64_t bytes, bool is_writable) = 0;
  // Waits until kernels that were launched before have ended. No effect in host memory.
  virtual void synchronize() = 0;
  // Releases the memory of a range that is not in use. Throws.
  virtual void discard(std::byte* address, std::int64_t bytes) = 0;
  // Maps memory outside of the reserved range; unmap_temporary() or move_temporary() ends the mapping. Throws.
  virtual std::byte* map_temporary(std::int64_t bytes) = 0;
  virtual void unmap_temporary(std::byte* address, std::int64_t bytes) = 0;
  // Moves the memory of a temporary mapping, which ends, to `target`, which has none. Returns 0 or errno.
  virtual int move_temporary(std::byte* source, std::int64_t bytes, std::byte* target) = 0;
  // Moves the memory at `source` to `target`; both are in the reserved range. Returns 0 or errno.
  virtual int move(std::byte* source, std::int64_t bytes, std::byte* target) = 0;
};

// Returns the tier of the process's RAM.
std::unique_ptr<BlockMemory> make_host_memory();

}  // namespace tutti::lms
