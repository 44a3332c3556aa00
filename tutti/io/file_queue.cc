#include "tutti/io/file_queue.h"

#include <fmt/format.h>
#include <liburing.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"

namespace tutti::io {
namespace {

constexpr std::size_t kDepth = 128;              // requests in flight
constexpr std::size_t kDelaySlot = kDepth;       // marks the completion of an injected delay
constexpr std::int64_t kRequestBytes = 2 << 20;  // largest request; longer transfers are split
constexpr int kThreads = 4;
constexpr int kSuccess = -2;  // end_request: the request transferred all its bytes

// A part of a transfer. `needed` bytes must be transferred; `wanted` is that number rounded up to kIoAlignment.
struct Request {
  std::int64_t id, offset, needed, wanted;
  std::byte* memory;
  bool is_write;
};

// Bytes that the next attempt of a request transfers.
std::int64_t attempt_bytes(const Request& request, const Fault& fault) {
  if (fault.most_bytes <= 0) return request.wanted;
  const std::int64_t most = std::max(fault.most_bytes / kIoAlignment, std::int64_t{1});
  return std::min(request.wanted, most * kIoAlignment);
}

// State shared by both engines: the requests of the transfers in flight and their results.
class QueueState {
 public:
  void add(const Request& transfer) {
    for (std::int64_t at = 0; at < transfer.needed; at += kRequestBytes) {
      const std::int64_t needed = std::min(kRequestBytes, transfer.needed - at);
      const std::int64_t wanted = (needed + kIoAlignment - 1) / kIoAlignment * kIoAlignment;
      waiting.push_back({transfer.id, transfer.offset + at, needed, wanted, transfer.memory + at,
                         transfer.is_write});
      ++open[transfer.id];
    }
  }
  // `result`: kSuccess, kEndOfFile or errno.
  void end_request(std::int64_t id, int result) {
    if (result != kSuccess) failed[id] = result;
    if (--open[id] == 0) open.erase(id);
  }
  int take_result(std::int64_t id) {
    const auto found = failed.extract(id);
    return found ? found.mapped() : 0;
  }

  std::deque<Request> waiting;
  std::map<std::int64_t, int> open;    // requests that a transfer still needs
  std::map<std::int64_t, int> failed;  // with the result
};

// Serialises the creation and destruction of rings. The kernel may map a new ring at the address of one that another
// thread has just destroyed. ThreadSanitizer does not see that order and would report a data race.
Mutex& ring_memory() {
  static Mutex mutex;
  return mutex;
}

// One thread at a time reaps completions (`is_reaping_`), without the lock, while others submit requests or wait until
// it has reaped theirs. The submission and the completion side of a ring may be used by two threads at a time.
class UringQueue final : public FileQueue {
 public:
  UringQueue(int file, FaultInjector faults)
      : file_(file), faults_(std::move(faults)), slots_(kDepth), free_slots_(kDepth) {
    std::iota(free_slots_.begin(), free_slots_.end(), std::size_t{0});
    const MutexLock lock(ring_memory());
    // Twice the depth: an injected delay takes a separate entry.
    const int result = ::io_uring_queue_init(2 * kDepth, &ring_, 0);
    if (result < 0)
      throw IoError("DDL-9-02",
                    fmt::format("io_uring is unavailable: {}.", std::strerror(-result)));
  }
  UringQueue(const UringQueue&) = delete;
  UringQueue& operator=(const UringQueue&) = delete;
  ~UringQueue() override {
    {
      MutexLock lock(mutex_);
      state_.waiting.clear();
      drops_remainders_ = true;
      while (free_slots_.size() < kDepth) reap(lock, true);
    }
    const MutexLock lock(ring_memory());
    ::io_uring_queue_exit(&ring_);
  }

  void expect(std::span<const std::span<std::byte>> buffers) override {
    std::vector<iovec> regions;
    for (const auto& buffer : buffers) regions.push_back({buffer.data(), buffer.size()});
    const MutexLock lock(mutex_);
    if (::io_uring_register_buffers(&ring_, regions.data(),
                                    static_cast<unsigned>(regions.size())) == 0)
      expected_ = std::move(regions);
  }

  void start_read(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                  std::byte* target) override {
    start({id, offset, bytes, bytes, target, false});
  }
  void start_write(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                   const std::byte* source) override {
    start({id, offset, bytes, bytes, const_cast<std::byte*>(source), true});
  }

  bool is_done(std::int64_t id) override {
    MutexLock lock(mutex_);
    if (state_.open.contains(id) && !is_reaping_) {
      while (reap(lock, false)) {
      }
    }
    return !state_.open.contains(id);
  }

  void wait(std::int64_t id) override {
    MutexLock lock(mutex_);
    while (state_.open.contains(id)) {
      if (is_reaping_)
        changed_.wait(lock);
      else
        reap(lock, true);
    }
  }

  int result(std::int64_t id) override {
    const MutexLock lock(mutex_);
    return state_.take_result(id);
  }

  std::string_view name() const override { return "io_uring"; }

 private:
  void start(const Request& transfer) {
    const MutexLock lock(mutex_);
    state_.add(transfer);
    submit();
  }

  void submit() TUTTI_REQUIRES(mutex_) {
    while (!state_.waiting.empty() && !free_slots_.empty()) {
      const Request request = state_.waiting.front();
      state_.waiting.pop_front();
      const Fault fault =
          faults_ ? faults_({request.is_write, request.offset, request.wanted}) : Fault{};
      if (fault.error != 0) {
        state_.end_request(request.id, fault.error);
        changed_.notify_all();
        continue;
      }
      if (fault.delay.count() > 0) add_delay(fault.delay);
      add_entry(request, attempt_bytes(request, fault));
      if (fault.delay.count() > 0) ::io_uring_submit(&ring_);  // delay_ may change afterwards
    }
    ::io_uring_submit(&ring_);
  }

  void add_entry(const Request& request, std::int64_t wanted) TUTTI_REQUIRES(mutex_) {
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    const auto bytes = static_cast<unsigned>(wanted);
    const auto offset = static_cast<std::uint64_t>(request.offset);
    const int buffer = expected_buffer(request);
    if (request.is_write && buffer >= 0)
      ::io_uring_prep_write_fixed(entry, file_, request.memory, bytes, offset, buffer);
    else if (request.is_write)
      ::io_uring_prep_write(entry, file_, request.memory, bytes, offset);
    else if (buffer >= 0)
      ::io_uring_prep_read_fixed(entry, file_, request.memory, bytes, offset, buffer);
    else
      ::io_uring_prep_read(entry, file_, request.memory, bytes, offset);
    const std::size_t slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = request;
    ::io_uring_sqe_set_data64(entry, slot);
  }

  // The next entry starts when the timeout has passed. The kernel copies the time when the entry is submitted.
  void add_delay(std::chrono::microseconds delay) TUTTI_REQUIRES(mutex_) {
    delay_ = {delay.count() / 1'000'000, delay.count() % 1'000'000 * 1000};
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
    ::io_uring_prep_timeout(entry, &delay_, 0, 0);
    ::io_uring_sqe_set_flags(entry, IOSQE_IO_HARDLINK);
    ::io_uring_sqe_set_data64(entry, kDelaySlot);
  }

  // Index of the registered buffer that contains the memory of the request; -1: none.
  int expected_buffer(const Request& request) const TUTTI_REQUIRES(mutex_) {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const auto* begin = static_cast<const std::byte*>(expected_[i].iov_base);
      if (request.memory >= begin &&
          request.memory + request.wanted <= begin + expected_[i].iov_len)
        return static_cast<int>(i);
    }
    return -1;
  }

  // Reaps one completion. Returns false if there is none and `blocks` is false. Only one thread at a time, with
  // is_reaping_ false; releases the lock while it blocks. The analysis does not know that `lock` holds mutex_.
  bool reap(MutexLock& lock, bool blocks) TUTTI_REQUIRES(mutex_) TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    io_uring_cqe* done = nullptr;
    int result = 0;
    if (blocks) {
      is_reaping_ = true;
      lock.unlock();
      while ((result = ::io_uring_wait_cqe(&ring_, &done)) == -EINTR) {
      }
      lock.lock();
      is_reaping_ = false;
    } else {
      result = ::io_uring_peek_cqe(&ring_, &done);
    }
    if (result == -EAGAIN && !blocks) return false;
    if (result < 0)
      throw IoError("DDL-9-02", fmt::format("io_uring has failed: {}.", std::strerror(-result)));
    const auto slot = static_cast<std::size_t>(::io_uring_cqe_get_data64(done));
    result = done->res;
    ::io_uring_cqe_seen(&ring_, done);
    if (slot != kDelaySlot) {
      free_slots_.push_back(slot);
      finish(slots_[slot], result);
      submit();
    }
    changed_.notify_all();
    return true;
  }

  // The kernel may transfer fewer bytes than requested; the remainder is requested again.
  void finish(const Request& request, int result) TUTTI_REQUIRES(mutex_) {
    const bool continues = result == -EINTR || result == -EAGAIN ||
                           (result > 0 && result < request.needed && result % kIoAlignment == 0);
    if (continues && !drops_remainders_) {
      const std::int64_t done = std::max(0, result);
      state_.waiting.push_front({request.id, request.offset + done, request.needed - done,
                                 request.wanted - done, request.memory + done, request.is_write});
      return;
    }
    if (result >= request.needed)
      state_.end_request(request.id, kSuccess);
    else if (result < 0)
      state_.end_request(request.id, -result);
    else
      state_.end_request(request.id, request.is_write ? ENOSPC : kEndOfFile);
  }

  const int file_;
  const FaultInjector faults_;
  io_uring ring_ = {};
  Mutex mutex_;
  ConditionVariable changed_;
  QueueState state_ TUTTI_GUARDED_BY(mutex_);
  bool is_reaping_ TUTTI_GUARDED_BY(mutex_) = false;
  bool drops_remainders_ TUTTI_GUARDED_BY(mutex_) = false;
  std::vector<Request> slots_
      TUTTI_GUARDED_BY(mutex_);  // requests in flight; entries carry the index
  std::vector<std::size_t> free_slots_ TUTTI_GUARDED_BY(mutex_);
  __kernel_timespec delay_ TUTTI_GUARDED_BY(mutex_) = {};
  std::vector<iovec> expected_ TUTTI_GUARDED_BY(mutex_);
};

class ThreadQueue final : public FileQueue {
 public:
  ThreadQueue(int file, FaultInjector faults) : file_(file), faults_(std::move(faults)) {
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
  }
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;
  ~ThreadQueue() override {
    {
      const MutexLock lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
  }

  void start_read(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                  std::byte* target) override {
    start({id, offset, bytes, bytes, target, false});
  }
  void start_write(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                   const std::byte* source) override {
    start({id, offset, bytes, bytes, const_cast<std::byte*>(source), true});
  }

  bool is_done(std::int64_t id) override {
    const MutexLock lock(mutex_);
    return !state_.open.contains(id);
  }

  void wait(std::int64_t id) override {
    MutexLock lock(mutex_);
    while (state_.open.contains(id)) changed_.wait(lock);
  }

  int result(std::int64_t id) override {
    const MutexLock lock(mutex_);
    return state_.take_result(id);
  }

  std::string_view name() const override { return "threads"; }

 private:
  void start(const Request& transfer) {
    const MutexLock lock(mutex_);
    state_.add(transfer);
    changed_.notify_all();
  }

  void work() {
    MutexLock lock(mutex_);
    for (;;) {
      while (!stops_ && state_.waiting.empty()) changed_.wait(lock);
      if (stops_) return;
      const Request request = state_.waiting.front();
      state_.waiting.pop_front();
      lock.unlock();
      const int result = transfer(request);
      lock.lock();
      state_.end_request(request.id, result);
      changed_.notify_all();
    }
  }

  // Returns kSuccess, kEndOfFile or errno.
  int transfer(Request rest) const {
    while (rest.needed > 0) {
      const Fault fault = faults_ ? faults_({rest.is_write, rest.offset, rest.wanted}) : Fault{};
      if (fault.delay.count() > 0) std::this_thread::sleep_for(fault.delay);
      if (fault.error != 0) return fault.error;
      const auto bytes = static_cast<std::size_t>(attempt_bytes(rest, fault));
      const ssize_t count = rest.is_write ? ::pwrite(file_, rest.memory, bytes, rest.offset)
                                          : ::pread(file_, rest.memory, bytes, rest.offset);
      if (count < 0 && errno != EINTR) return errno;
      if (count == 0) return rest.is_write ? ENOSPC : kEndOfFile;
      const std::int64_t done = std::max<ssize_t>(0, count);
      rest = {rest.id,
              rest.offset + done,
              rest.needed - done,
              rest.wanted - done,
              rest.memory + done,
              rest.is_write};
    }
    return kSuccess;
  }

  const int file_;
  const FaultInjector faults_;
  Mutex mutex_;
  ConditionVariable changed_;
  QueueState state_ TUTTI_GUARDED_BY(mutex_);
  bool stops_ TUTTI_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<FileQueue> FileQueue::create(int file, Engine engine, FaultInjector faults) {
  if (engine != Engine::kThreads) {
    try {
      return std::make_unique<UringQueue>(file, faults);
    } catch (const IoError& error) {
      if (engine == Engine::kIoUring) throw;
      log::info("{} Reading and writing with {} threads instead.", error.what(), kThreads);
    }
  }
  return std::make_unique<ThreadQueue>(file, std::move(faults));
}

}  // namespace tutti::io
