// Library-allocated memory, from `allocate` and `ddl_malloc`. Each rank has one arena of shared segments, which peers
// on the host map on first use, so a collective can read and write it in place.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tutti/comm/transport/shm/shared_memory.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace internal {
class Segment;
}

// An address in the arena of a rank.
struct Location {
  std::int32_t segment = -1;
  std::int64_t offset = 0;

  bool operator==(const Location&) const = default;
};

class Arena {
 public:
  static constexpr int kMaxSegments = 256;

  Arena();
  ~Arena();

  // Allocates at least `bytes`, aligned to `alignment` (a power of two; at least 64). `usable` receives the usable
  // size. The pages are reserved: throws MemoryError if the host has not enough memory. Thread-safe.
  void* allocate(std::size_t bytes, std::size_t alignment = 64, std::size_t* usable = nullptr);
  // Frees memory from `allocate`; nullptr is ignored. Throws ConfigError for any other address. In a forked child
  // `allocate` throws MemoryError and `free` does nothing: the memory belongs to the parent.
  void free(void* address);

  // Location of [data, data + bytes), or nullopt if it is not inside one segment. Lock-free, because every collective
  // calls it.
  std::optional<Location> find(const void* data, std::size_t bytes) const;

  // Handle that a peer needs to map this arena.
  MemoryHandle directory() const;
  std::size_t allocated_bytes() const;
  // Peak of the allocated bytes since the start or the last reset.
  std::size_t peak_bytes() const;
  void reset_peak();

 private:
  friend class PeerArena;
  struct Directory;  // in shared memory: number of segments and their handles
  void* take(std::size_t bytes, std::size_t alignment) TUTTI_REQUIRES(mutex_);
  void* grow(std::size_t bytes, std::size_t alignment) TUTTI_REQUIRES(mutex_);
  bool is_forked() const;

  std::shared_ptr<SharedMemory> directory_memory_;
  Directory* directory_ = nullptr;
  std::array<std::shared_ptr<internal::Segment>, kMaxSegments> segments_;
  std::atomic<int> segment_count_ = 0;
  mutable Mutex mutex_;
  std::size_t allocated_bytes_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::size_t peak_bytes_ TUTTI_GUARDED_BY(mutex_) = 0;
};

// The arena of another rank of this host.
class PeerArena {
 public:
  static Result open(const MemoryHandle& directory, std::unique_ptr<PeerArena>* arena);
  // Returns the address in this process of a location in the arena of the peer. Maps the segment on first use. Not
  // thread-safe.
  Result resolve(Location location, std::byte** address);
  ~PeerArena();

 private:
  PeerArena();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tutti::comm
