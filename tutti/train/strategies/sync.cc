// Every rank computes the gradient of its part of the batch; all take the mean, and every rank
// updates all weights.
//
// A full bucket is reduced on the communicator's own thread while backward goes on. After backward
// the buckets are waited for in the same order, and each is used for the update while later ones
// still travel.
//
// With lag 1 the update of step n uses the mean gradient of step n-1, so nothing is waited for that
// was not sent a whole step before; the first step updates nothing.
#include <utility>

#include "tutti/train/strategies/buckets.h"

namespace tutti::train {
namespace {

class Sync : public Strategy {
 public:
  explicit Sync(const StrategyParts& parts)
      : communicator_(parts.communicator),
        parameters_(parts.parameters),
        optimizer_(parts.optimizer),
        clip_norm_(parts.options.number("clip_norm")),
        lag_(static_cast<int>(parts.options.integer("lag"))),
        buckets_(parts, [this](std::size_t b) { start(b); }),
        works_(buckets_.size()),
        pending_(buckets_.size()) {}

  void begin() override {
    if (lag_ == 1) buffer_ = 1 - buffer_;
    parameters_.begin(buffer_);
  }

  void last_backward() override {
    if (communicator_.size() > 1) buckets_.arm();
  }

  StepTimes finish(std::int64_t step, double rate, float scale, bool is_good) override {
    if (communicator_.size() > 1) buckets_.start_rest();
    StepTimes times;
    if (lag_ == 1) {
      std::swap(works_, pending_);
      std::swap(is_good, is_pending_good_);
      if (std::exchange(is_first_, false)) return times;
    }
    const int buffer = lag_ == 1 ? 1 - buffer_ : buffer_;
    optimizer_.begin(step, rate);
    const bool is_clipped = clip_norm_ > 0;
    if (is_clipped) {
      for (comm::Work& work : works_) times.waited += wait_for(work);
      scale *= clip_factor(parameters_.gradients(buffer), clip_norm_, scale);
    }
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      times.waited += wait_for(works_[b]);
      if (is_good)
        optimizer_.update(parameters_.weights(), parameters_.gradients(buffer), buckets_[b].first,
                          buckets_[b].last, scale);
    }
    return times;
  }

  std::span<const float> pending() override {
    if (lag_ == 0 || is_first_ || !is_pending_good_) return {};
    for (comm::Work& work : pending_) wait_for(work);
    return parameters_.gradients(buffer_);
  }
  void set_pending(std::span<const float> gradient) override {
    std::copy(gradient.begin(), gradient.end(), parameters_.gradients(buffer_).begin());
    is_first_ = gradient.empty();
  }

  comm::Communicator& workers() override { return communicator_; }

 private:
  void start(std::size_t b) {
    const std::span<float> part = parameters_.gradients(buffer_).subspan(
        static_cast<std::size_t>(buckets_[b].begin), static_cast<std::size_t>(buckets_[b].count));
    works_[b] = communicator_.all_reduce_async(ConstBuffer::of(std::span<const float>(part)),
                                               Buffer::of(part), ReduceOp::kAverage,
                                               {.name = buckets_[b].name});
  }

  comm::Communicator& communicator_;
  FlatParameters& parameters_;
  Optimizer& optimizer_;
  const double clip_norm_;
  const int lag_;
  Buckets buckets_;
  int buffer_ = 0;
  std::vector<comm::Work> works_, pending_;
  bool is_pending_good_ = true, is_first_ = true;
};

}  // namespace

std::unique_ptr<Strategy> make_sync(const StrategyParts& parts) {
  return std::make_unique<Sync>(parts);
}

}  // namespace tutti::train
