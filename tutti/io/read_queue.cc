#include "tutti/io/read_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"

namespace tutti::io {
namespace {

constexpr unsigned kDepth = 128;                 // requests in flight
constexpr std::int64_t kRequestBytes = 2 << 20;  // largest request; longer reads are split
constexpr int kThreads = 4;

// A part of a read. `needed` bytes must arrive; `wanted` is that number rounded up to kReadAlignment.
struct Request {
  std::int64_t id, offset, needed, wanted;
  std::byte* target;
};

// State shared by both implementations: the open file and the requests of its reads.
class FileQueue : public ReadQueue {
 public:
  FileQueue(const FileQueue&) = delete;
  FileQueue& operator=(const FileQueue&) = delete;

 protected:
  explicit FileQueue(const std::filesystem::path& path) : name_(path.string()) {
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (file_ < 0 && errno == EINVAL) file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0)
      throw IoError("DDL-9-02",
                    fmt::format("{}: cannot open it: {}.", name_, std::strerror(errno)));
  }
  ~FileQueue() override { ::close(file_); }

  void add_requests(std::int64_t id, std::int64_t offset, std::int64_t bytes, std::byte* target) {
    for (std::int64_t at = 0; at < bytes; at += kRequestBytes) {
      const std::int64_t needed = std::min(kRequestBytes, bytes - at);
      const std::int64_t wanted = (needed + kReadAlignment - 1) / kReadAlignment * kReadAlignment;
      waiting_.push_back({id, offset + at, needed, wanted, target + at});
      ++open_[id];
    }
  }
  // `error`: -1: none, 0: the file ended.
  void end_request(std::int64_t id, int error) {
    if (error >= 0) failed_[id] = error;
    if (--open_[id] == 0) open_.erase(id);
  }
  void throw_if_failed(std::int64_t id) {
    if (const auto failed = failed_.extract(id)) fail(failed.mapped());
  }
  [[noreturn]] void fail(int error) const {
    throw IoError("DDL-9-02",
                  error == 0 ? fmt::format("{}: it became shorter.", name_)
                             : fmt::format("{}: cannot read it: {}.", name_, std::strerror(error)));
  }

  int file_ = -1;
  std::deque<Request> waiting_;
  std::map<std::int64_t, int> open_;  // requests that a read still needs

 private:
  std::string name_;
  std::map<std::int64_t, int> failed_;  // with the error
};

// Serialises the creation and destruction of rings. The kernel may map a new ring at the address of one that another
// thread has just destroyed. ThreadSanitizer does not see that order and would report a data race.
Mutex& ring_memory() {
  static Mutex mutex;
  return mutex;
}

class UringQueue final : public FileQueue {
 public:
  explicit UringQueue(const std::filesystem::path& path) : FileQueue(path) {
    const MutexLock lock(ring_memory());
    const int result = ::io_uring_queue_init(kDepth, &ring_, 0);
    if (result < 0)
      throw IoError("DDL-9-02", fmt::format("io_uring is not there: {}.", std::strerror(-result)));
  }
  ~UringQueue() override {
    waiting_.clear();
    while (in_flight_ > 0) take_one();
    const MutexLock lock(ring_memory());
    ::io_uring_queue_exit(&ring_);
  }

  void expect(std::span<const std::span<std::byte>> buffers) override {
    std::vector<iovec> places;
    for (const auto& buffer : buffers) places.push_back({buffer.data(), buffer.size()});
    if (::io_uring_register_buffers(&ring_, places.data(), static_cast<unsigned>(places.size())) ==
        0)
      expected_ = std::move(places);
  }

  void start(std::int64_t id, std::int64_t offset, std::int64_t bytes, std::byte* target) override {
    add_requests(id, offset, bytes, target);
    submit();
  }

  void wait(std::int64_t id) override {
    while (open_.contains(id)) take_one();
    throw_if_failed(id);
  }

  std::string_view name() const override { return "io_uring"; }

 private:
  void submit() {
    for (; !waiting_.empty() && in_flight_ < kDepth; ++in_flight_) {
      io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
      auto* request = new Request(waiting_.front());
      waiting_.pop_front();
      const auto bytes = static_cast<unsigned>(request->wanted);
      const auto offset = static_cast<std::uint64_t>(request->offset);
      const int buffer = expected_buffer(*request);
      if (buffer >= 0)
        ::io_uring_prep_read_fixed(entry, file_, request->target, bytes, offset, buffer);
      else
        ::io_uring_prep_read(entry, file_, request->target, bytes, offset);
      ::io_uring_sqe_set_data(entry, request);
    }
    ::io_uring_submit(&ring_);
  }

  // Index of the registered buffer that contains the target of the request; -1: none.
  int expected_buffer(const Request& request) const {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const auto* begin = static_cast<const std::byte*>(expected_[i].iov_base);
      if (request.target >= begin &&
          request.target + request.wanted <= begin + expected_[i].iov_len)
        return static_cast<int>(i);
    }
    return -1;
  }

  void take_one() {
    io_uring_cqe* done = nullptr;
    int result = 0;
    while ((result = ::io_uring_wait_cqe(&ring_, &done)) == -EINTR) {
    }
    if (result < 0) fail(-result);
    const std::unique_ptr<Request> request(static_cast<Request*>(::io_uring_cqe_get_data(done)));
    result = done->res;
    ::io_uring_cqe_seen(&ring_, done);
    --in_flight_;
    finish(*request, result);
    submit();
  }

  // The kernel may return fewer bytes than requested; the remainder is requested again.
  void finish(const Request& request, int result) {
    const bool goes_on = result == -EINTR || result == -EAGAIN ||
                         (result > 0 && result < request.needed && result % kReadAlignment == 0);
    if (goes_on && open_.contains(request.id)) {
      const std::int64_t got = std::max(0, result);
      waiting_.push_front({request.id, request.offset + got, request.needed - got,
                           request.wanted - got, request.target + got});
      return;
    }
    end_request(request.id, result >= request.needed ? -1 : std::max(0, -result));
  }

  io_uring ring_ = {};
  unsigned in_flight_ = 0;
  std::vector<iovec> expected_;
};

class ThreadQueue final : public FileQueue {
 public:
  explicit ThreadQueue(const std::filesystem::path& path) : FileQueue(path) {
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~ThreadQueue() override {
    {
      const MutexLock lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
  }

  void start(std::int64_t id, std::int64_t offset, std::int64_t bytes, std::byte* target) override {
    const MutexLock lock(mutex_);
    add_requests(id, offset, bytes, target);
    changed_.notify_all();
  }

  void wait(std::int64_t id) override {
    MutexLock lock(mutex_);
    while (open_.contains(id)) changed_.wait(lock);
    throw_if_failed(id);
  }

  std::string_view name() const override { return "threads"; }

 private:
  void work() {
    MutexLock lock(mutex_);
    for (;;) {
      while (!stops_ && waiting_.empty()) changed_.wait(lock);
      if (stops_) return;
      const Request request = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      const int error = read(request);
      lock.lock();
      end_request(request.id, error);
      changed_.notify_all();
    }
  }

  // Returns errno, 0 at the end of the file, or -1 for success.
  int read(const Request& request) const {
    for (std::int64_t got = 0; got < request.needed;) {
      const ssize_t count =
          ::pread(file_, request.target + got, static_cast<std::size_t>(request.wanted - got),
                  request.offset + got);
      if (count < 0 && errno != EINTR) return errno;
      if (count == 0) return 0;
      got += std::max<ssize_t>(0, count);
    }
    return -1;
  }

  Mutex mutex_;
  ConditionVariable changed_;
  bool stops_ TUTTI_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<ReadQueue> ReadQueue::open(const std::filesystem::path& path, Engine engine) {
  if (engine != Engine::kThreads) {
    try {
      return std::make_unique<UringQueue>(path);
    } catch (const IoError& error) {
      if (engine == Engine::kIoUring || !std::filesystem::exists(path)) throw;
      log::info("{} Reading with {} threads instead.", error.what(), kThreads);
    }
  }
  return std::make_unique<ThreadQueue>(path);
}

}  // namespace tutti::io
