// What a rank of every measured system does, whatever library it measures. A system brings a
// Contender; serve() reads commands from its pipe, checks, measures and answers
// (bench/harness/worker_group.h is the other end).
//
//   measure <memory> <bytes> <warmup> <iterations> <batches>
//     1. fills the buffer with values that differ by rank and place, reduces, compares every
//     element on every rank;
//     2. fills the buffer with zeros, which stay zeros however often they are summed, and runs
//     <warmup> operations;
//     3. times <batches> batches of <iterations> operations, back to back, ranks lined up before
//     each batch; answers "times <seconds per operation of batch 1> ...", or "error <what was
//     wrong>".
//   quit
//
// Standard C++ and POSIX only, in one header: the MPI compilers build it without the rest of the
// project.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace tutti::bench {

// Page-aligned memory of this process alone, as an allocator gives it for large tensors.
class PlainMemory {
 public:
  explicit PlainMemory(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~PlainMemory() { munmap(data_, bytes_); }
  PlainMemory(const PlainMemory&) = delete;
  PlainMemory& operator=(const PlainMemory&) = delete;
  float* data() const { return static_cast<float*>(data_); }

 private:
  void* data_;
  std::size_t bytes_;
};

class Contender {
 public:
  virtual ~Contender() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // The operation that is timed: sum over all ranks, in place.
  virtual void all_reduce(float* data, std::size_t count) = 0;

  // Gives the buffer to measure on; the former one of the same kind is not used any more. The kind
  // `memory` is "foreign" (plain memory of the process) or "library" (memory of the library's own),
  // where it has such.
  virtual float* allocate(const std::string& memory, std::size_t bytes) {
    if (memory != "foreign") throw std::invalid_argument("no memory of kind " + memory);
    plain_.reset();
    plain_ = std::make_unique<PlainMemory>(bytes);
    return plain_->data();
  }

  // Returns when all ranks are here.
  virtual void line_up() {
    float one = 1;
    all_reduce(&one, 1);
  }

  // Whether all_reduce is one; if not, results are not checked.
  virtual bool reduces() const { return true; }

 private:
  std::unique_ptr<PlainMemory> plain_;
};

namespace detail {

// Commands are read by a thread of their own that sleeps in read(). When the pipe closes, the
// driver is gone and the process ends, even while its main thread is caught in an operation that
// the other ranks have left.
class CommandPipe {
 public:
  explicit CommandPipe(const std::string& path) : thread_([this, path] { read_lines(path); }) {
    thread_.detach();
  }
  std::string next() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  void read_lines(const std::string& path) {
    std::ifstream pipe(path);
    for (std::string line; std::getline(pipe, line);) {
      std::lock_guard lock(mutex_);
      lines_.push_back(line);
      arrived_.notify_one();
      if (line == "quit") return;
    }
    _exit(3);
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::string> lines_;
  std::thread thread_;
};

// Whole numbers small enough that sums over thousands of ranks are exact in f32 in every order; the
// prime period tells a misplaced slice.
inline float value_at(std::size_t place, int factor) {
  return static_cast<float>((place % 1021 + 1) * static_cast<std::size_t>(factor));
}

inline void check(Contender& contender, float* data, std::size_t count) {
  const int ranks = contender.size();
  for (std::size_t i = 0; i < count; ++i) data[i] = value_at(i, contender.rank() % 5 + 1);
  int factor = 0;
  for (int rank = 0; rank < ranks; ++rank) factor += rank % 5 + 1;
  contender.all_reduce(data, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (data[i] == value_at(i, factor)) continue;
    std::ostringstream text;
    text << "wrong result on rank " << contender.rank() << ": element " << i << " of " << count
         << " is " << data[i] << ", not " << value_at(i, factor);
    throw std::runtime_error(text.str());
  }
}

inline std::string measure(Contender& contender, float* data, std::size_t count, int warmup,
                           int iterations, int batches) {
  using Clock = std::chrono::steady_clock;
  if (contender.reduces()) check(contender, data, count);
  std::memset(data, 0, count * sizeof(float));
  for (int i = 0; i < warmup; ++i) contender.all_reduce(data, count);
  std::ostringstream answer;
  answer << "times";
  for (int batch = 0; batch < batches; ++batch) {
    contender.line_up();
    auto start = Clock::now();
    for (int i = 0; i < iterations; ++i) contender.all_reduce(data, count);
    answer << ' ' << std::chrono::duration<double>(Clock::now() - start).count() / iterations;
  }
  return answer.str();
}

}  // namespace detail

// Serves commands until "quit". `folder` holds the pipes.
inline void serve(Contender& contender, const std::string& folder) {
  const std::string rank = std::to_string(contender.rank());
  detail::CommandPipe commands(folder + "/command-" + rank);
  std::ofstream replies(folder + "/reply-" + rank);
  replies << "ready" << std::endl;
  struct Held {
    std::size_t bytes = 0;
    float* data = nullptr;
  };
  std::map<std::string, Held> buffers;
  for (std::string line; (line = commands.next()) != "quit";) {
    std::istringstream words(line);
    std::string command, memory;
    std::size_t bytes = 0;
    int warmup = 0, iterations = 0, batches = 0;
    words >> command >> memory >> bytes >> warmup >> iterations >> batches;
    try {
      if (!words || command != "measure" || iterations < 1)
        throw std::invalid_argument("unknown: " + line);
      Held& held = buffers[memory];
      if (bytes != held.bytes) held = {bytes, contender.allocate(memory, bytes)};
      replies << detail::measure(contender, held.data, bytes / sizeof(float), warmup, iterations,
                                 batches)
              << std::endl;
    } catch (const std::exception& error) {
      replies << "error " << error.what() << std::endl;
    }
  }
}

}  // namespace tutti::bench
