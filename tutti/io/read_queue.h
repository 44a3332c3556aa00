// Asynchronous reads of one file, overlapped with the caller's computation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace tutti::io {

// File offsets and buffer addresses of reads are multiples of this number of bytes, as O_DIRECT requires.
inline constexpr std::int64_t kReadAlignment = 4096;

// A queue of reads of one file. A caller starts reads, computes, and waits for each by its id, in any order. One thread
// at a time may call it.
class ReadQueue {
 public:
  enum class Engine : std::uint8_t { kAuto, kIoUring, kThreads };

  // Opens `path`, with O_DIRECT if the file system supports it. kAuto uses io_uring, or threads if the kernel does not
  // have or permit it. Throws IoError (DDL-9-02) if the file cannot be opened, or kIoUring is unavailable.
  static std::unique_ptr<ReadQueue> open(const std::filesystem::path& path,
                                         Engine engine = Engine::kAuto);
  // Drops requests that are still queued and waits for those in flight, so the buffers can be freed afterwards.
  virtual ~ReadQueue() = default;

  // Hint: most reads will go to these buffers, which must outlive the queue. io_uring registers them, so the kernel
  // does not pin their pages for each read. No effect if the kernel refuses, or with threads. Call it at most once.
  virtual void expect(std::span<const std::span<std::byte>> /*buffers*/) {}
  // Starts reading the bytes [offset, offset + bytes) into `target`, whose size is `bytes` rounded up to a multiple of
  // kReadAlignment. `offset` and `target` are aligned to kReadAlignment. `target` must stay valid until wait(id) or the
  // destructor returns. `id` is chosen by the caller and must not be in flight.
  virtual void start(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                     std::byte* target) = 0;
  // Blocks until read `id` is complete. Throws IoError (DDL-9-02) if it failed or the file is too short; the queue
  // stays usable.
  virtual void wait(std::int64_t id) = 0;
  // The engine in use: "io_uring" or "threads".
  virtual std::string_view name() const = 0;
};

}  // namespace tutti::io
