#include "tutti/comm/transport/shm/arena.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

#include "tutti/comm/transport/shm/internal/segment.h"
#include "tutti/core/mutex.h"

// Segments are large and sparse: the first reserves 64 MiB of addresses, each further one as much as all before it
// together, or the request if that is larger. Addresses are free and the pages of freed blocks are released, so a
// segment is never unmapped, and `find` reads the table of segments without a lock.
//
// A forked child inherits a copy of the bookkeeping, which becomes stale immediately. In the child `allocate` throws
// and `free` does nothing; reading and writing the memory works.
namespace tutti::comm {
namespace {

constexpr std::size_t kFirstSegmentBytes = std::size_t{64} << 20;
constexpr std::size_t kUnit = 64;  // a cache line; blocks never share one
constexpr std::size_t kMostBytes = std::numeric_limits<std::size_t>::max() / 4;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

struct Arena::Directory {
  std::atomic<std::int32_t> count;
  std::array<MemoryHandle, kMaxSegments> handles;
};

Arena::Arena() : directory_memory_(SharedMemory::create(sizeof(Directory))) {
  directory_memory_->reserve(0, sizeof(Directory)).throw_if_error();
  directory_ = new (directory_memory_->data()) Directory{};
}

Arena::~Arena() = default;

bool Arena::is_forked() const {
  return getpid() != directory_memory_->handle().pid;
}

void* Arena::allocate(std::size_t bytes, std::size_t alignment, std::size_t* usable) {
  if (!std::has_single_bit(alignment)) {
    throw ConfigError("DDL-5-04", fmt::format("Library memory cannot be aligned to {} bytes. Use a "
                                              "power of two, for example 64.",
                                              alignment));
  }
  if (is_forked()) {
    throw MemoryError(
        "DDL-5-05",
        "A forked process cannot allocate library memory of its parent. Allocate before "
        "the fork, or start workers with 'spawn' or 'forkserver'.");
  }
  const std::size_t size = round_up(std::clamp(bytes, std::size_t{1}, kMostBytes), kUnit);
  alignment = std::clamp(alignment, kUnit, kMostBytes + 1);
  const MutexLock lock(mutex_);
  void* address = take(size, alignment);
  if (!address) address = grow(size, alignment);
  allocated_bytes_ += size;
  peak_bytes_ = std::max(peak_bytes_, allocated_bytes_);
  if (usable) *usable = size;
  return address;
}

// A block of an existing segment, or nullptr if none has enough space.
void* Arena::take(std::size_t bytes, std::size_t alignment) {
  for (int i = 0; i < segment_count_.load(std::memory_order_relaxed); ++i) {
    internal::Segment& segment = *segments_[i];
    const auto offset = segment.take(bytes, alignment);
    if (!offset) continue;
    const Result reserved = segment.reserve(*offset, bytes);
    if (!reserved) segment.give_back(*offset);
    reserved.throw_if_error();
    return segment.memory().data() + *offset;
  }
  return nullptr;
}

// A block of a new segment. The segment is published only if it can provide the block, so a failed request has no
// effect.
void* Arena::grow(std::size_t bytes, std::size_t alignment) {
  const int count = segment_count_.load(std::memory_order_relaxed);
  if (count == kMaxSegments) {
    throw MemoryError("DDL-5-06", fmt::format("The library memory of this rank has {} segments, "
                                              "the maximum. Allocate fewer, larger buffers.",
                                              count));
  }
  std::size_t before = 0;
  for (int i = 0; i < count; ++i) before += segments_[i]->memory().bytes();
  const std::size_t slack = alignment > kUnit ? alignment : 0;  // a segment starts at a page
  const std::size_t size = std::max({kFirstSegmentBytes, before, bytes + slack});
  const auto segment =
      std::make_shared<internal::Segment>(round_up(size, internal::Segment::kGranule));
  const auto offset = segment->take(bytes, alignment);
  segment->reserve(*offset, bytes).throw_if_error();
  segments_[count] = segment;
  directory_->handles[count] = segment->memory().handle();
  segment_count_.store(count + 1, std::memory_order_release);
  directory_->count.store(count + 1, std::memory_order_release);
  return segment->memory().data() + *offset;
}

void Arena::free(void* address) {
  if (!address || is_forked()) return;
  const MutexLock lock(mutex_);
  if (const auto location = find(address, 1)) {
    const auto bytes = segments_[location->segment]->give_back(location->offset);
    allocated_bytes_ -= bytes.value_or(0);
    if (bytes) return;
  }
  throw ConfigError("DDL-5-07",
                    fmt::format("{} was not allocated by this library, or is free already. "
                                "Free each buffer once, on the rank that allocated it.",
                                address));
}

std::optional<Location> Arena::find(const void* data, std::size_t bytes) const {
  const int count = segment_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (segments_[i]->contains(data, bytes)) {
      return Location{i, static_cast<const std::byte*>(data) - segments_[i]->memory().data()};
    }
  }
  return std::nullopt;
}

MemoryHandle Arena::directory() const {
  return directory_memory_->handle();
}

std::size_t Arena::allocated_bytes() const {
  const MutexLock lock(mutex_);
  return allocated_bytes_;
}

std::size_t Arena::peak_bytes() const {
  const MutexLock lock(mutex_);
  return peak_bytes_;
}

void Arena::reset_peak() {
  const MutexLock lock(mutex_);
  peak_bytes_ = allocated_bytes_;
}

struct PeerArena::State {
  std::shared_ptr<SharedMemory> directory_memory;
  std::array<std::shared_ptr<SharedMemory>, Arena::kMaxSegments> segments;
};

PeerArena::PeerArena() : state_(std::make_unique<State>()) {}
PeerArena::~PeerArena() = default;

Result PeerArena::open(const MemoryHandle& directory, std::unique_ptr<PeerArena>* arena) {
  std::unique_ptr<PeerArena> opened(new PeerArena);
  Result result = SharedMemory::open(directory, &opened->state_->directory_memory);
  if (!result) return std::move(result).with_context("mapping the memory of a rank on this host");
  if (directory.bytes != sizeof(Arena::Directory)) {
    return Result::failure(
        ErrorKind::kMemory, "DDL-5-08",
        "The memory of a rank on this host is laid out differently. Run the same "
        "version of the library on all ranks.");
  }
  *arena = std::move(opened);
  return result;
}

Result PeerArena::resolve(Location location, std::byte** address) {
  const auto& directory =
      *reinterpret_cast<const Arena::Directory*>(state_->directory_memory->data());
  const int count = directory.count.load(std::memory_order_acquire);
  const bool is_known = location.segment >= 0 && location.segment < count;
  if (is_known && !state_->segments[location.segment]) {
    Result result = SharedMemory::open(directory.handles[location.segment],
                                       &state_->segments[location.segment]);
    if (!result) return std::move(result).with_context("mapping the memory of a rank on this host");
  }
  if (!is_known || location.offset < 0 ||
      static_cast<std::size_t>(location.offset) >= state_->segments[location.segment]->bytes()) {
    return Result::failure(
        ErrorKind::kMemory, "DDL-5-09",
        fmt::format(
            "Offset {} of segment {} does not exist in the memory of process {}. Free buffers "
            "only after every rank has finished with them.",
            location.offset, location.segment, state_->directory_memory->handle().pid));
  }
  *address = state_->segments[location.segment]->data() + location.offset;
  return Result::ok();
}

}  // namespace tutti::comm
