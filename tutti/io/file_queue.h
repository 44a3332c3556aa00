// Asynchronous reads and writes of one file with io_uring, or with threads where io_uring is unavailable.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace tutti::io {

// File offsets, buffer addresses and write sizes are multiples of this number of bytes, as O_DIRECT requires.
inline constexpr std::int64_t kIoAlignment = 4096;

// Fault that a test injects into one request. Several members may be set.
struct Fault {
  int error = 0;                         // errno with which the request fails; 0: none
  std::int64_t most_bytes = 0;           // short transfer: at most this many bytes; 0: all
  std::chrono::microseconds delay = {};  // delay before the request starts
};

// A part of a read or write, as passed to a FaultInjector.
struct RequestInfo {
  bool is_write;
  std::int64_t offset, bytes;
};

// Called before each request is submitted, by the submitting thread or by a thread of the queue.
using FaultInjector = std::function<Fault(const RequestInfo&)>;

// A queue of transfers between memory and one file. Thread-safe; several threads may wait for the same transfer.
//
// A transfer has an id that the caller chooses. It is in flight from start_read or start_write until wait(id) returns
// or is_done(id) returns true. Its result is kept until result(id). Transfers are split into requests of at most 2 MiB,
// and up to 128 requests are submitted at a time. Further requests are submitted as completions are reaped. Only calls
// of this class reap them, so a caller that has queued more must call is_done from time to time.
class FileQueue {
 public:
  enum class Engine : std::uint8_t { kAuto, kIoUring, kThreads };
  // Result of a read past the end of the file.
  static constexpr int kEndOfFile = -1;

  // A queue on an open descriptor, which must stay open until the queue is destroyed. kAuto uses io_uring, or threads
  // if the kernel does not have or permit it. Throws IoError (DDL-9-02) if kIoUring is unavailable.
  static std::unique_ptr<FileQueue> create(int file, Engine engine = Engine::kAuto,
                                           FaultInjector faults = {});
  // Drops requests that are still queued and waits for those in flight, so the buffers can be freed afterwards.
  virtual ~FileQueue() = default;

  // Hint: most transfers use these buffers, which must outlive the queue. io_uring registers them, so the kernel does
  // not pin their pages for each request. No effect if the kernel refuses, or with threads. Call it at most once.
  virtual void expect(std::span<const std::span<std::byte>> /*buffers*/) {}
  // Starts reading the bytes [offset, offset + bytes) into `target`, whose size is `bytes` rounded up to a multiple of
  // kIoAlignment. `target` must stay valid until the read is complete or the queue is destroyed.
  virtual void start_read(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                          std::byte* target) = 0;
  // Starts writing `bytes` bytes, a multiple of kIoAlignment, to `offset`. `source` must stay valid as above.
  virtual void start_write(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                           const std::byte* source) = 0;
  // Returns true if the transfer is complete. Does not block.
  virtual bool is_done(std::int64_t id) = 0;
  // Blocks until the transfer is complete.
  virtual void wait(std::int64_t id) = 0;
  // Result of a complete transfer: 0, kEndOfFile or errno. A second call for the same id returns 0.
  virtual int result(std::int64_t id) = 0;
  // The engine in use: "io_uring" or "threads".
  virtual std::string_view name() const = 0;
};

}  // namespace tutti::io
