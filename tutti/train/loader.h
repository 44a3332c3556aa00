// Batches read ahead by a thread, so that the network does not wait for files.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "tutti/train/run/sampler.h"
#include "tutti/train/task.h"

namespace tutti::train {

class Loader {
 public:
  // Delivers the batches of the steps from `first` on. `task` must outlive it.
  Loader(Task& task, Sampler sampler, std::int64_t first);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The batch of the next step. Throws what reading it threw.
  Batch next();

 private:
  static constexpr std::size_t kAhead = 2;
  void run();

  Task& task_;
  Sampler sampler_;
  std::int64_t step_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::exception_ptr failure_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace tutti::train
