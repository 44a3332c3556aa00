// Every rank trains by itself; every `local_steps` steps all take the mean of their weights. What
// the update rule remembers stays with the rank.
#include <torch/types.h>

#include "tutti/core/clock.h"
#include "tutti/train/strategies/finite_watch.h"
#include "tutti/train/strategy.h"

namespace tutti::train {
namespace {

class LocalSgd : public Strategy {
 public:
  explicit LocalSgd(const StrategyParts& parts)
      : communicator_(parts.communicator),
        parameters_(parts.parameters),
        optimizer_(parts.optimizer),
        clip_norm_(parts.options.number("clip_norm")),
        local_steps_(parts.options.integer("local_steps")),
        watch_(communicator_, parameters_) {}

  void begin() override {
    parameters_.begin();
    watch_.begin();
  }

  Reduced reduce(bool is_loss_good) override {
    watch_.look(0, 0, parameters_.segments().size());
    watch_.tell();
    const Stopwatch watch;
    const bool is_finite = watch_.is_good();
    return {is_loss_good && is_finite, is_loss_good && !is_finite, watch.seconds()};
  }
  std::string bad_layer() const override { return watch_.layer(); }

  StepTimes finish(std::int64_t step, double rate, float scale, bool is_good) override {
    if (is_good) {
      scale *= clip_factor(parameters_.gradients(), clip_norm_, scale);
      optimizer_.begin(step, rate);
      optimizer_.update(parameters_.weights(), parameters_.gradients(), 0,
                        optimizer_.segments().size(), scale);
    }
    StepTimes times;
    if (step % local_steps_ == 0) {
      const Stopwatch watch;
      agree();
      times.waited = watch.seconds();
    }
    times.staleness = static_cast<double>(step % local_steps_) * (communicator_.size() - 1);
    return times;
  }

  void agree() override {
    communicator_.all_reduce(Buffer::of(parameters_.weights()), ReduceOp::kAverage,
                             {.name = "weights"});
  }
  comm::Communicator& workers() override { return communicator_; }

 private:
  comm::Communicator& communicator_;
  FlatParameters& parameters_;
  Optimizer& optimizer_;
  const double clip_norm_;
  const std::int64_t local_steps_;
  FiniteWatch watch_;
};

}  // namespace

std::unique_ptr<Strategy> make_local_sgd(const StrategyParts& parts) {
  return std::make_unique<LocalSgd>(parts);
}

}  // namespace tutti::train
