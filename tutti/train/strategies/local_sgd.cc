// Local SGD: every rank trains independently. Every `local_steps` steps, the weights are averaged over all ranks. Each
// rank keeps its own optimizer state.
#include <torch/types.h>

#include "tutti/core/clock.h"
#include "tutti/train/strategies/nonfinite_check.h"
#include "tutti/train/strategy.h"

namespace tutti::train {
namespace {

class LocalSgd : public Strategy {
 public:
  explicit LocalSgd(const StrategyContext& context)
      : communicator_(context.communicator),
        parameters_(context.parameters),
        optimizer_(context.optimizer),
        clip_norm_(context.options.number("clip_norm")),
        local_steps_(context.options.integer("local_steps")),
        nonfinite_check_(communicator_, parameters_) {}

  void begin() override {
    parameters_.begin();
    nonfinite_check_.begin();
  }

  Reduced reduce(bool is_loss_finite) override {
    nonfinite_check_.check(0, 0, parameters_.segments().size());
    nonfinite_check_.start_reduction();
    const Stopwatch watch;
    const bool is_finite = nonfinite_check_.is_finite();
    return {is_loss_finite && is_finite, is_loss_finite && !is_finite, watch.seconds()};
  }
  std::string nonfinite_layer() const override { return nonfinite_check_.layer(); }

  StepTimes finish(std::int64_t step, double rate, float scale, bool is_finite) override {
    if (is_finite) {
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
  NonFiniteCheck nonfinite_check_;
};

}  // namespace

std::unique_ptr<Strategy> make_local_sgd(const StrategyContext& context) {
  return std::make_unique<LocalSgd>(context);
}

}  // namespace tutti::train
