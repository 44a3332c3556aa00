// Synchronous data-parallel training. Every rank computes the gradient of its part of the batch; the gradients are
// averaged over all ranks, and every rank updates all weights.
//
// A complete bucket is reduced on the communicator's thread during the backward pass. After it, the rank waits for the
// last buckets and for the result of the non-finite check: a non-finite gradient must be known before any rank changes
// its weights.
//
// With lag 1 the update of step n uses the mean gradient of step n-1, so the reduction has a whole step to complete;
// the first step updates nothing.
#include <utility>

#include "tutti/core/clock.h"
#include "tutti/train/strategies/buckets.h"
#include "tutti/train/strategies/nonfinite_check.h"

namespace tutti::train {
namespace {

class Sync : public Strategy {
 public:
  explicit Sync(const StrategyContext& context)
      : communicator_(context.communicator),
        parameters_(context.parameters),
        optimizer_(context.optimizer),
        stages_(context.stages),
        clip_norm_(context.options.number("clip_norm")),
        lag_(static_cast<int>(context.options.integer("lag"))),
        buckets_(context, [this](std::size_t b) { start(b); }),
        nonfinite_checks_{{communicator_, parameters_}, {communicator_, parameters_}},
        works_(buckets_.size()),
        pending_(buckets_.size()) {}

  bool is_synchronous() const override { return true; }
  void begin() override {
    if (lag_ == 1) buffer_ = 1 - buffer_;
    parameters_.begin(buffer_);
    nonfinite_checks_[buffer_].begin();
  }

  void last_backward() override {
    if (communicator_.size() > 1) buckets_.arm();
  }

  Reduced reduce(bool is_loss_finite) override {
    if (communicator_.size() > 1)
      buckets_.start_rest();
    else
      for (std::size_t b = 0; b < buckets_.size(); ++b) check_bucket(b);
    nonfinite_checks_[buffer_].start_reduction();
    used_ = buffer_;
    has_gradient_ = true;
    if (lag_ == 1) {
      std::swap(works_, pending_);
      std::swap(is_loss_finite, is_pending_finite_);
      used_ = 1 - buffer_;
      has_gradient_ = !std::exchange(is_first_, false);
    }
    Reduced reduced;
    if (!has_gradient_) return reduced;
    const Stopwatch watch;
    for (comm::Work& work : works_) wait_for(work);
    const bool is_finite = nonfinite_checks_[used_].is_finite();
    return {is_loss_finite && is_finite, is_loss_finite && !is_finite, watch.seconds()};
  }
  std::string nonfinite_layer() const override { return nonfinite_checks_[used_].layer(); }

  StepTimes finish(std::int64_t step, double rate, float scale, bool is_finite) override {
    if (!has_gradient_ || !is_finite) return {};
    const std::span<float> gradients = parameters_.gradients(used_);
    optimizer_.begin(step, rate);
    if (clip_norm_ > 0) scale *= clip_factor(all_squares(gradients), clip_norm_, scale);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      optimizer_.update(parameters_.weights(), gradients, buckets_[b].first, buckets_[b].last,
                        scale);
    return {};
  }

  std::span<const float> pending() override {
    if (lag_ == 0 || is_first_ || !is_pending_finite_) return {};
    for (comm::Work& work : pending_) wait_for(work);
    if (!nonfinite_checks_[buffer_].is_finite()) return {};
    return parameters_.gradients(buffer_);
  }
  void set_pending(std::span<const float> gradient) override {
    std::copy(gradient.begin(), gradient.end(), parameters_.gradients(buffer_).begin());
    is_first_ = gradient.empty();
  }

  comm::Communicator& workers() override { return communicator_; }

 private:
  void check_bucket(std::size_t b) {
    nonfinite_checks_[buffer_].check(buffer_, buckets_[b].first, buckets_[b].last);
  }

  double all_squares(std::span<const float> gradients) const {
    double sum = 0;
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      sum += squares(gradients.subspan(static_cast<std::size_t>(buckets_[b].begin),
                                       static_cast<std::size_t>(buckets_[b].count)));
    return sum_over_stages(sum, stages_);
  }

  void start(std::size_t b) {
    check_bucket(b);
    const std::span<float> part = parameters_.gradients(buffer_).subspan(
        static_cast<std::size_t>(buckets_[b].begin), static_cast<std::size_t>(buckets_[b].count));
    works_[b] = communicator_.all_reduce_async(ConstBuffer::of(std::span<const float>(part)),
                                               Buffer::of(part), ReduceOp::kAverage,
                                               {.name = buckets_[b].name});
  }

  comm::Communicator& communicator_;
  FlatParameters& parameters_;
  Optimizer& optimizer_;
  comm::Communicator* const stages_;
  const double clip_norm_;
  const int lag_;
  Buckets buckets_;
  NonFiniteCheck nonfinite_checks_[2];  // per buffer
  int buffer_ = 0, used_ = 0;           // buffers of the gradients of this step, and of this update
  std::vector<comm::Work> works_, pending_;
  bool is_pending_finite_ = true, is_first_ = true, has_gradient_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_sync(const StrategyContext& context) {
  return std::make_unique<Sync>(context);
}

}  // namespace tutti::train
