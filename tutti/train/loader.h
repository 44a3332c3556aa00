// Prefetching of batches by a background thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tutti/train/run/sampler.h"
#include "tutti/train/task.h"

namespace tutti::train {

// Loads the batches of requested steps in the background, at most two ahead. One thread may call it.
class Loader {
 public:
  // `data` must outlive this object.
  Loader(DataSet& data, Sampler sampler);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Requests the batch of a part of a step. Batches are loaded in the order of requests.
  void ask(std::int64_t step, std::int64_t part);
  // Returns the next requested batch. Throws the error of loading it.
  Batch next();

 private:
  static constexpr std::size_t kAhead = 2;
  void run();

  DataSet& data_;
  Sampler sampler_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::int64_t, std::int64_t>> asked_;  // step and part
  std::deque<Batch> ready_;
  std::exception_ptr failure_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace tutti::train
