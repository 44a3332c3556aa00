// The gradients of a model, in library memory, reduced bucket by bucket while the backward pass
// runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/core/mutex.h"
#include "tutti/fusion/bucket_schedule.h"
#include "tutti/fusion/engine.h"

namespace tutti::fusion {

// For one thread, but for `mark_ready`, which may come from any.
class GradientBuckets {
 public:
  struct Settings {
    std::string name = "gradients";  // of all buckets; one object of a name at a time
    BucketLimits limits;
    int passes = 1;  // backward passes whose sum is reduced
    Kind kind = Kind::kAllReduce;
    ReduceOp op = ReduceOp::kAverage;
    double prescale = 1, postscale = 1;
    comm::Codec compression = comm::Codec();
  };

  // `sizes`: the gradients in the order of first use, the same on all ranks. The memory is zero.
  // `engine` must outlive this object.
  GradientBuckets(Engine& engine, const std::vector<GradientSize>& sizes, const Settings& settings);
  // Waits for what is under way.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Where gradient i is. It is reduced there, without a copy.
  Buffer gradient(std::size_t i) const { return gradients_[i]; }
  std::size_t buckets() const { return schedule_.buckets().size(); }

  // A backward pass has written gradient i. After the last pass its bucket goes as soon as it is
  // whole. Throws ConfigError when it comes more often than there are passes.
  void mark_ready(std::size_t i);
  void set_passes(int passes);
  // Gives what is missing as it is in memory (not every rank uses every parameter), waits for all,
  // and begins the next step. Throws what a bucket failed with.
  void synchronize();
  // Whether something of this step is under way.
  bool is_reducing() const;

 private:
  void submit(std::size_t b);

  Engine& engine_;
  const std::shared_ptr<comm::Arena> arena_;
  Settings settings_;
  mutable Mutex mutex_;
  BucketSchedule schedule_;
  std::byte* memory_ = nullptr;
  std::vector<Buffer> memories_;   // by bucket
  std::vector<comm::Work> works_;  // by bucket
  std::vector<Buffer> gradients_;
};

}  // namespace tutti::fusion
