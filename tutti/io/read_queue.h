// Reads of one file that go on while the caller computes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace tutti::io {

// Places and buffers of reads begin at multiples of this, so that the disk can write straight into
// them.
inline constexpr std::int64_t kReadAlignment = 4096;

// One caller at a time.
class ReadQueue {
 public:
  enum class Engine : std::uint8_t { kAuto, kIoUring, kThreads };

  // kAuto: io_uring, or threads where the kernel has none or refuses it. Past the cache of the
  // operating system where the file system can. Throws IoError when the file cannot be opened, or
  // io_uring was asked for and is not there.
  static std::unique_ptr<ReadQueue> open(const std::filesystem::path& path,
                                         Engine engine = Engine::kAuto);
  // Waits for all that was started.
  virtual ~ReadQueue() = default;

  // Most reads will go to these buffers, which outlive the queue: the kernel need not look up their
  // pages each time. Where it does not allow that, nothing changes. At most once.
  virtual void expect(std::span<const std::span<std::byte>> /*buffers*/) {}
  // Starts reading [offset, offset + bytes) to `target`, which has room up to the next multiple of
  // kReadAlignment. `id` must not be one that is being read.
  virtual void start(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                     std::byte* target) = 0;
  // Returns when `id` is there; throws IoError when it cannot be read or the file ends before.
  virtual void wait(std::int64_t id) = 0;
  virtual std::string_view name() const = 0;
};

}  // namespace tutti::io
