// How the ranks make one model of their work. One file each in strategies/, one row in
// make_strategy.
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
  double waited = 0;     // seconds in which this rank only waited for others
  double staleness = 0;  // updates by others since the weights of this step were fetched
};

// What became of the gradients that an update is going to use.
struct Reduced {
  bool is_usable = true;
  bool has_overflowed =
      false;  // some rank's were not finite, or 2^64 and more, though its loss was
  double waited = 0;
};

// The trainer calls, at every step: begin, then for each of the accumulated batches a backward
// pass, with last_backward before the last one, then reduce, then finish. Ranks that do not train
// call serve instead.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual void begin() = 0;
  virtual void last_backward() {}
  // Until the gradients of the next update are there: those of this step or, with lag 1, of the one
  // before. `is_loss_finite`: the losses of this step were finite on all ranks of the group. The same
  // on all of them.
  virtual Reduced reduce(bool is_loss_finite) = 0;
  // Where this rank's part of them was not finite; empty: nowhere.
  virtual std::string nonfinite_layer() const = 0;
  // Update number `step` (from 1) at this rate; `scale` multiplies the gradients first. When
  // `is_good` is false nothing is updated: all ranks must say the same.
  virtual StepTimes finish(std::int64_t step, double rate, float scale, bool is_finite) = 0;
  // Makes the weights of all ranks that train the same: before they are evaluated or written.
  virtual void agree() {}
  // The same for what the optimiser keeps: before it is written.
  virtual void share_moments() {}
  // With lag 1: the gradient that the next step updates with, after waiting for it; or nothing.
  virtual std::span<const float> pending() { return {}; }
  // What the run that is resumed had pending.
  virtual void set_pending(std::span<const float>) {}
  virtual bool trains() const { return true; }
  // Whether all ranks take every step together, with the same weights.
  virtual bool is_synchronous() const { return false; }
  // Until all groups have left; the run starts at this step.
  virtual void serve(std::int64_t) {}
  // Says that this rank will not train any more.
  virtual void leave() {}
  // Those that train.
  virtual comm::Communicator& workers() = 0;
  // Those with whom every step is taken together; a step uses the samples of the largest group's
  // size.
  virtual comm::Communicator& group() { return workers(); }
  virtual int group_size() { return workers().size(); }
  // Groups work at their own pace: steps are numbered over all of them and given to whoever is
  // free. The first step of this group when the run starts at `start`; and the one to take after
  // `step`, asked for before `step` is begun.
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
  // Those that train the other tensors of this network; null: this rank trains all of it.
  comm::Communicator* stages = nullptr;
};

// How many gradient buffers the strategy of these options wants.
int gradient_buffers(const Options& options);
// The strategy that the options name. Throws ConfigError when there are too few ranks for it.
std::unique_ptr<Strategy> make_strategy(const StrategyContext& context);

std::unique_ptr<Strategy> make_sync(const StrategyContext& context);
std::unique_ptr<Strategy> make_sharded(const StrategyContext& context);
std::unique_ptr<Strategy> make_local_sgd(const StrategyContext& context);
// `is_async`: every rank that trains is a group of its own.
std::unique_ptr<Strategy> make_parameter_servers(const StrategyContext& context, bool is_async);

}  // namespace tutti::train
