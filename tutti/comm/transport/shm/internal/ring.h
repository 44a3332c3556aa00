// Ring buffer in shared memory with one writer and one reader process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti::comm::internal {

inline constexpr std::size_t kRingBytes = 64 * 1024;

// Total bytes written and read. Each counter has one writer and a separate cache line. All zeros is an empty ring.
struct RingControl {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The writing end. The reader sees nothing before `publish`.
class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(RingControl* control, std::byte* bytes) : control_(control), bytes_(bytes) {}

  std::size_t room(std::size_t wanted) {
    // The reader's counter is in its cache, so it is read only if the last known value is not sufficient.
    if (kRingBytes - (position_ - known_read_) < wanted) {
      known_read_ = control_->read.load(std::memory_order_acquire);
    }
    return kRingBytes - (position_ - known_read_);
  }
  // `bytes` must not exceed the result of `room`.
  void write(const void* data, std::size_t bytes) {
    const std::size_t at = position_ % kRingBytes;
    const std::size_t before_wrap = std::min(bytes, kRingBytes - at);
    std::memcpy(bytes_ + at, data, before_wrap);
    if (bytes > before_wrap) {
      std::memcpy(bytes_, static_cast<const std::byte*>(data) + before_wrap, bytes - before_wrap);
    }
    position_ += bytes;
  }
  void skip(std::size_t bytes) { position_ += bytes; }
  void publish() { control_->written.store(position_, std::memory_order_release); }

 private:
  RingControl* control_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::uint64_t position_ = 0;
  std::uint64_t known_read_ = 0;
};

// The reading end. The writer does not reuse the bytes before `release`.
class RingReader {
 public:
  RingReader() = default;
  RingReader(RingControl* control, const std::byte* bytes) : control_(control), bytes_(bytes) {}

  bool is_empty() {
    if (position_ == known_written_) {
      known_written_ = control_->written.load(std::memory_order_acquire);
    }
    return position_ == known_written_;
  }
  // `bytes` must not exceed the published bytes.
  void read(void* data, std::size_t bytes) {
    const std::size_t at = position_ % kRingBytes;
    const std::size_t before_wrap = std::min(bytes, kRingBytes - at);
    std::memcpy(data, bytes_ + at, before_wrap);
    if (bytes > before_wrap) {
      std::memcpy(static_cast<std::byte*>(data) + before_wrap, bytes_, bytes - before_wrap);
    }
    position_ += bytes;
  }
  void skip(std::size_t bytes) { position_ += bytes; }
  void release() { control_->read.store(position_, std::memory_order_release); }

 private:
  RingControl* control_ = nullptr;
  const std::byte* bytes_ = nullptr;
  std::uint64_t position_ = 0;
  std::uint64_t known_written_ = 0;
};

}  // namespace tutti::comm::internal
