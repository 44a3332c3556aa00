// Where a worker gets its commands from.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

namespace tutti::bench {

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

}  // namespace tutti::bench
