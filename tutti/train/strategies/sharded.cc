// Synchronous training with a sharded optimizer step. Every rank computes the gradient of its part of the batch and
// updates one shard of the weights.
//
// For each bucket, reduce-scatter gives a rank the mean gradient of its shard only. The rank updates the weights of the
// shard, and all-gather sends them to all ranks. This moves as many bytes as an all-reduce of the gradients. The
// arithmetic of the update, and its memory traffic for weights and optimizer state, are done once instead of on every
// rank. The all-gather comes last and cannot overlap with the backward pass, so this is for networks with many weights
// on hosts with many ranks. Every rank allocates the whole optimizer state; only its own shard is valid until
// share_moments() exchanges it for a checkpoint.
#include <algorithm>

#include "tutti/core/clock.h"
#include "tutti/train/strategies/buckets.h"
#include "tutti/train/strategies/nonfinite_check.h"

namespace tutti::train {
namespace {

class ShardedUpdate : public Strategy {
 public:
  explicit ShardedUpdate(const StrategyContext& context)
      : communicator_(context.communicator),
        parameters_(context.parameters),
        optimizer_(context.optimizer),
        stages_(context.stages),
        clip_norm_(context.options.number("clip_norm")),
        buckets_(context, [this](std::size_t b) { start(b); }),
        nonfinite_check_(communicator_, parameters_),
        works_(buckets_.size()) {
    std::size_t size = 0;
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      slices_.push_back(slice_of(buckets_[b]));
      slices_[b].at = size;
      size += slices_[b].size();
    }
    memory_ =
        static_cast<float*>(communicator_.allocate(std::max<std::size_t>(1, size) * sizeof(float)));
  }
  ~ShardedUpdate() override { communicator_.free(memory_); }

  bool is_synchronous() const override { return true; }
  void begin() override {
    parameters_.begin();
    nonfinite_check_.begin();
  }
  void last_backward() override { buckets_.arm(); }

  Reduced reduce(bool is_loss_finite) override {
    buckets_.start_rest();
    nonfinite_check_.start_reduction();
    const Stopwatch watch;
    for (comm::Work& work : works_) wait_for(work);
    const bool is_finite = nonfinite_check_.is_finite();
    return {is_loss_finite && is_finite, is_loss_finite && !is_finite, watch.seconds()};
  }
  std::string nonfinite_layer() const override { return nonfinite_check_.layer(); }

  StepTimes finish(std::int64_t step, double rate, float scale, bool is_finite) override {
    StepTimes times;
    if (!is_finite) return times;
    optimizer_.begin(step, rate);
    if (clip_norm_ > 0) scale *= clip_factor(all_squares(), clip_norm_, scale);
    for (std::size_t b = 0; b < buckets_.size(); ++b) works_[b] = update(b, scale);
    for (comm::Work& work : works_) times.waited += wait_for(work);
    return times;
  }

  void share_moments() override {
    for (std::vector<float>& moments : optimizer_.state())
      for (std::size_t b = 0; b < buckets_.size(); ++b) gather(b, moments).wait();
  }

  comm::Communicator& workers() override { return communicator_; }

 private:
  struct Slice {
    std::int64_t begin = 0;            // of this rank's shard, in the whole array
    std::size_t at = 0;                // of this rank's shard, in memory_
    std::vector<std::int64_t> counts;  // of every rank
    std::size_t mine = 0;
    std::size_t size() const { return static_cast<std::size_t>(counts[mine]); }
  };

  Slice slice_of(const Bucket& bucket) const {
    const std::int64_t ranks = communicator_.size(), rank = communicator_.rank();
    Slice slice;
    slice.mine = static_cast<std::size_t>(rank);
    slice.begin = bucket.begin + bucket.count * rank / ranks;
    for (std::int64_t r = 0; r < ranks; ++r)
      slice.counts.push_back(bucket.count * (r + 1) / ranks - bucket.count * r / ranks);
    return slice;
  }

  std::span<float> memory(std::size_t b) const {
    return {memory_ + slices_[b].at, slices_[b].size()};
  }
  static std::span<float> part(std::span<float> whole, const Bucket& bucket) {
    return whole.subspan(static_cast<std::size_t>(bucket.begin),
                         static_cast<std::size_t>(bucket.count));
  }

  void start(std::size_t b) {
    nonfinite_check_.check(0, buckets_[b].first, buckets_[b].last);
    const std::span<const float> gradients = part(parameters_.gradients(), buckets_[b]);
    works_[b] = communicator_.reduce_scatter_async(ConstBuffer::of(gradients),
                                                   Buffer::of(memory(b)), ReduceOp::kAverage,
                                                   slices_[b].counts, {.name = buckets_[b].name});
  }

  comm::Work update(std::size_t b, float scale) {
    optimizer_.update_slice(parameters_.weights(), memory(b), slices_[b].begin, scale);
    return gather(b, parameters_.weights());
  }

  // All-gathers the shards of bucket b of `whole`. The gradient memory is unused by then.
  comm::Work gather(std::size_t b, std::span<float> whole) {
    const std::span<const float> mine =
        whole.subspan(static_cast<std::size_t>(slices_[b].begin), slices_[b].size());
    std::copy(mine.begin(), mine.end(), memory(b).begin());
    return communicator_.all_gather_async(ConstBuffer::of(std::span<const float>(memory(b))),
                                          Buffer::of(part(whole, buckets_[b])), slices_[b].counts,
                                          {.name = buckets_[b].name});
  }

  double all_squares() {
    double sum = 0;
    for (std::size_t b = 0; b < buckets_.size(); ++b) sum += squares(memory(b));
    communicator_.all_reduce(Buffer::of(std::span(&sum, 1)), ReduceOp::kSum, {.name = "squares"});
    return sum_over_stages(sum, stages_);
  }

  comm::Communicator& communicator_;
  FlatParameters& parameters_;
  Optimizer& optimizer_;
  comm::Communicator* const stages_;
  const double clip_norm_;
  Buckets buckets_;
  NonFiniteCheck nonfinite_check_;
  std::vector<comm::Work> works_;
  std::vector<Slice> slices_;
  float* memory_ = nullptr;  // shards of this rank, bucket after bucket
};

}  // namespace

std::unique_ptr<Strategy> make_sharded(const StrategyContext& context) {
  return std::make_unique<ShardedUpdate>(context);
}

}  // namespace tutti::train
