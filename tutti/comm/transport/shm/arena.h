// Library memory: what `allocate` and `ddl_malloc` give out. One arena per rank, made of shared
// segments that peers on the host map when they first need them; so a collective can read and write
// it in place.
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

// A place in some rank's arena.
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

  // Memory of at least `bytes`, aligned to `alignment` (a power of two; 64 is the least given).
  // `usable`, when given, receives the bytes that may be used. Its pages are reserved: throws
  // MemoryError when the machine is full. Safe from every thread.
  void* allocate(std::size_t bytes, std::size_t alignment = 64, std::size_t* usable = nullptr);
  // Gives back what `allocate` gave; nullptr is nothing. Throws ConfigError for any other address.
  // In a forked child `allocate` throws MemoryError and `free` does nothing: the memory stays its
  // parent's.
  void free(void* address);

  // Where [data, data + bytes) lies, when it is inside one segment. Lock-free: on the path of every
  // collective.
  std::optional<Location> find(const void* data, std::size_t bytes) const;

  // What a peer needs to map this arena: the handle of its directory.
  MemoryHandle directory() const;
  std::size_t allocated_bytes() const;
  // The most that was allocated at one time, since the start or the last reset.
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

// Another local rank's arena, seen from here.
class PeerArena {
 public:
  static Result open(const MemoryHandle& directory, std::unique_ptr<PeerArena>* arena);
  // This process's address of a place in the peer's arena; maps the segment on first use. One
  // thread at a time.
  Result resolve(Location location, std::byte** address);
  ~PeerArena();

 private:
  PeerArena();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tutti::comm
