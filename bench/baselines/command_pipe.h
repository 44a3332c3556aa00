// Command input of a worker.
#pragma once

#include <unistd.h>

#include <deque>
#include <fstream>
#include <string>
#include <thread>

#include "tutti/core/mutex.h"

namespace tutti::bench {

// A separate thread reads commands and sleeps in read(). If the pipe closes, the driver has exited, and the process
// exits too, even if its main thread is blocked in an operation that the other ranks have left. The object must exist
// until the process exits or has received "quit".
class CommandPipe {
 public:
  explicit CommandPipe(const std::string& path) : thread_([this, path] { read_lines(path); }) {
    thread_.detach();
  }
  // Blocks until the next line arrives.
  std::string next() {
    MutexLock lock(mutex_);
    while (lines_.empty()) arrived_.wait(lock);
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  void read_lines(const std::string& path) {
    std::ifstream pipe(path);
    for (std::string line; std::getline(pipe, line);) {
      MutexLock lock(mutex_);
      lines_.push_back(line);
      arrived_.notify_one();
      if (line == "quit") return;
    }
    _exit(3);
  }

  Mutex mutex_;
  ConditionVariable arrived_;
  std::deque<std::string> lines_ TUTTI_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace tutti::bench
