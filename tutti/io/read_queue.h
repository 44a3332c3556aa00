// Asynchronous reads of one file, overlapped with the caller's computation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tutti/io/file_queue.h"

namespace tutti::io {

// File offsets and buffer addresses of reads are multiples of this number of bytes, as O_DIRECT requires.
inline constexpr std::int64_t kReadAlignment = kIoAlignment;

// A queue of reads of one file. A caller starts reads, computes, and waits for each by its id, in any order.
class ReadQueue {
 public:
  using Engine = FileQueue::Engine;

  // Opens `path`, with O_DIRECT if the file system supports it. kAuto uses io_uring, or threads if the kernel does not
  // have or permit it. Throws IoError (DDL-9-02) if the file cannot be opened, or kIoUring is unavailable.
  static std::unique_ptr<ReadQueue> open(const std::filesystem::path& path,
                                         Engine engine = Engine::kAuto);
  // Drops requests that are still queued and waits for those in flight, so the buffers can be freed afterwards.
  ~ReadQueue();
  ReadQueue(const ReadQueue&) = delete;
  ReadQueue& operator=(const ReadQueue&) = delete;

  // Hint: most reads will go to these buffers; as FileQueue::expect.
  void expect(std::span<const std::span<std::byte>> buffers) { queue_->expect(buffers); }
  // Starts reading the bytes [offset, offset + bytes) into `target`, whose size is `bytes` rounded up to a multiple of
  // kReadAlignment. `offset` and `target` are aligned to kReadAlignment. `target` must stay valid until wait(id) or the
  // destructor returns. `id` is chosen by the caller and must not be in flight.
  void start(std::int64_t id, std::int64_t offset, std::int64_t bytes, std::byte* target) {
    queue_->start_read(id, offset, bytes, target);
  }
  // Blocks until read `id` is complete. Throws IoError (DDL-9-02) if it failed or the file is too short; the queue
  // stays usable.
  void wait(std::int64_t id);
  // The engine in use: "io_uring" or "threads".
  std::string_view name() const { return queue_->name(); }

 private:
  ReadQueue(std::string path, int file, Engine engine);

  const std::string path_;
  const int file_;
  std::unique_ptr<FileQueue> queue_;
};

}  // namespace tutti::io
