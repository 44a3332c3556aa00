// Gradients of a model in library-allocated memory, reduced bucket by bucket during the backward pass.
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

// Not thread-safe, except for `mark_ready`, which any thread may call.
class GradientBuckets {
 public:
  struct Settings {
    std::string name = "gradients";  // prefix of the bucket names; unique
    BucketLimits limits;
    int passes = 1;  // backward passes whose sum is reduced
    Kind kind = Kind::kAllReduce;
    ReduceOp op = ReduceOp::kAverage;
    double prescale = 1, postscale = 1;
    comm::Codec compression = comm::Codec();
  };

  // `sizes`: the gradients in the order of first use, the same on all ranks. The memory is initialised to zero.
  // `engine` must outlive this object.
  GradientBuckets(Engine& engine, const std::vector<GradientSize>& sizes, const Settings& settings);
  // Waits for all buckets in flight.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Memory of gradient i. It is reduced in place.
  Buffer gradient(std::size_t i) const { return gradients_[i]; }
  std::size_t buckets() const { return schedule_.buckets().size(); }

  // Reports that a backward pass has written gradient i. After the last pass a bucket is submitted as soon as all its
  // gradients are ready. Throws ConfigError if called more often than there are passes.
  void mark_ready(std::size_t i);
  void set_passes(int passes);
  // Submits the remaining buckets with their current contents (not every rank uses every parameter), waits for all
  // buckets and begins the next step. Throws the error of a failed bucket.
  void synchronize();
  // True if a gradient of this step has been marked ready and `synchronize` has not completed.
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
