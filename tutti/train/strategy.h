// Parallel training strategies. Each is one file in strategies/ and one row in make_strategy.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>

#include "tutti/comm/communicator.h"
#include "tutti/core/options.h"
#include "tutti/train/parameters.h"

namespace tutti::train {

struct StepTimes {
  double waited = 0;     // seconds spent waiting for other ranks
  double staleness = 0;  // updates by other groups since the weights of this step were fetched
};

// Result of the gradient reduction for an update.
struct Reduced {
  bool is_usable = true;
  bool has_overflowed =
      false;  // the loss was finite, but the gradients of some rank were not, or reached 2^64
  double waited = 0;
};

// At every step the trainer calls begin, then runs a backward pass for each accumulated batch, with last_backward
// before the last one, then calls reduce, then finish. Ranks that do not train call serve instead.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual void begin() = 0;
  virtual void last_backward() {}
  // Waits for the gradients of the next update: those of this step or, with lag 1, of the previous one.
  // `is_loss_finite`: the losses of this step were finite on all ranks of the group. Returns the same on all of them.
  virtual Reduced reduce(bool is_loss_finite) = 0;
  // Layer of this rank with a non-finite gradient; empty: none.
  virtual std::string nonfinite_layer() const = 0;
  // Performs update number `step` (from 1) at this rate; the gradients are multiplied by `scale` first. If `is_finite`
  // is false, nothing is updated; it must be the same on all ranks.
  virtual StepTimes finish(std::int64_t step, double rate, float scale, bool is_finite) = 0;
  // Makes the weights of all ranks that train equal, before they are evaluated or written.
  virtual void agree() {}
  // The same for the optimizer state, before it is written.
  virtual void share_moments() {}
  // With lag 1, waits for the gradient of the next update and returns it; otherwise empty.
  virtual std::span<const float> pending() { return {}; }
  // Restores the pending gradient of a resumed run.
  virtual void set_pending(std::span<const float>) {}
  virtual bool trains() const { return true; }
  // Whether all ranks take every step together, with the same weights.
  virtual bool is_synchronous() const { return false; }
  // Serves requests until all groups have left; the run starts at this step.
  virtual void serve(std::int64_t) {}
  // Announces that this rank has finished training.
  virtual void leave() {}
  // The ranks that train.
  virtual comm::Communicator& workers() = 0;
  // The ranks that take every step together. The samples of a step are those of the largest group size.
  virtual comm::Communicator& group() { return workers(); }
  virtual int group_size() { return workers().size(); }
  // Groups run at their own pace. Steps are numbered over all groups and assigned to the group that is free. first_step
  // is the first step of this group if the run starts at `start`; next_step is the one after `step`, requested before
  // `step` begins.
  virtual int groups() const { return 1; }
  virtual int group_number() const { return 0; }
  virtual std::int64_t first_step(std::int64_t start) { return start; }
  virtual std::int64_t next_step(std::int64_t step) { return step + 1; }
};

struct StrategyContext {
  comm::Communicator& communicator;
  torch::nn::Module& model;
  const Options& options;
  FlatParameters& parameters;
  Optimizer& optimizer;
  // The tensors that this rank trains, `last` excluded; sync only.
  std::size_t first_tensor = 0, last_tensor = std::numeric_limits<std::size_t>::max();
  // The ranks that train the other tensors of this network; null: this rank trains all of them.
  comm::Communicator* stages = nullptr;
};

// Number of gradient buffers that the strategy of these options needs.
int gradient_buffers(const Options& options);
// Creates the strategy of the options. Throws ConfigError if there are too few ranks for it.
std::unique_ptr<Strategy> make_strategy(const StrategyContext& context);

std::unique_ptr<Strategy> make_sync(const StrategyContext& context);
std::unique_ptr<Strategy> make_sharded(const StrategyContext& context);
std::unique_ptr<Strategy> make_local_sgd(const StrategyContext& context);
// `is_async`: every rank that trains is a group.
std::unique_ptr<Strategy> make_parameter_servers(const StrategyContext& context, bool is_async);

}  // namespace tutti::train
