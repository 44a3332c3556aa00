#include <torch/types.h>

#include "tutti/core/clock.h"
#include "tutti/train/process_setup.h"
#include "tutti/train/trainer.h"
#include "tutti/train/updates.h"

namespace tutti::train {
namespace {

constexpr int kWarmUp = 3;

// Steps on one random batch, with or without the other ranks.
class Bench {
 public:
  Bench(Task& task, comm::Communicator& communicator, const Options& options)
      : task_(task),
        options_(options),
        self_(communicator.split(communicator.rank())),
        parameters_(task.model(), communicator, options.flag("channels_last"),
                    gradient_buffers(options)),
        optimizer_(update_settings(options), parameters_.segments()),
        together_(task, {communicator, task.model(), options, parameters_, optimizer_}),
        alone_(task, {*self_, task.model(), options, parameters_, optimizer_}, make_sync),
        batch_(task.random_batch(options.integer("batch"))) {}

  struct Times {
    double seconds, waited;
  };
  Times together() { return step(together_); }
  Times alone() { return step(alone_); }

 private:
  Times step(StepUpdates& updates) {
    const Stopwatch watch;
    double waited = 0;
    for (std::size_t update = 0; update < updates.size(); ++update) {
      const StepUpdates::FreezeOthers freeze(updates, update);
      Strategy& strategy = updates.strategy(update);
      strategy.begin();
      const torch::Tensor loss =
          precise_loss(task_, options_, update, batch_, static_cast<std::uint64_t>(steps_));
      strategy.last_backward();
      loss.backward();
      const Reduced reduced = strategy.reduce(true);
      waited += reduced.waited +
                strategy.finish(updates.number(update, steps_), 1e-4, 1, reduced.is_usable).waited;
    }
    ++steps_;
    return {watch.seconds(), waited};
  }

  Task& task_;
  const Options& options_;
  std::unique_ptr<comm::Communicator> self_;
  FlatParameters parameters_;
  Optimizer optimizer_;
  StepUpdates together_, alone_;
  const Batch batch_;
  std::int64_t steps_ = 0;
};

}  // namespace

SpeedReport measure_speed(Task& task, comm::Communicator& communicator, const Options& options,
                          int steps) {
  task.model().train();
  Bench bench(task, communicator, options);
  SpeedReport report;
  std::vector<double> apart;
  double waited = 0, sum = 0;
  for (int step = -kWarmUp; step < steps; ++step) {
    communicator.barrier({.name = "together"});
    const Bench::Times together = bench.together();
    communicator.barrier({.name = "apart"});
    const double each = bench.alone().seconds;
    communicator.barrier({.name = "alone"});
    const bool is_my_turn = (step + kWarmUp) % communicator.size() == communicator.rank();
    const double alone = is_my_turn ? bench.alone().seconds : 0;
    if (step < 0) continue;
    report.step_seconds.push_back(together.seconds);
    report.alone_seconds.push_back(alone);
    apart.push_back(each);
    waited += together.waited;
    sum += together.seconds;
  }
  auto all = [&](std::vector<double>& seconds, ReduceOp op) {
    communicator.all_reduce(Buffer::of(std::span(seconds)), op, {.name = "seconds"});
  };
  all(report.step_seconds, ReduceOp::kMax);
  all(report.alone_seconds, ReduceOp::kMax);
  report.apart_seconds.resize(apart.size() * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(ConstBuffer::of(std::span<const double>(apart)),
                          Buffer::of(std::span(report.apart_seconds)), {}, {.name = "apart"});
  report.slowest_seconds = apart;
  all(report.slowest_seconds, ReduceOp::kMax);
  std::vector<double> shares = {waited / sum};
  all(shares, ReduceOp::kAverage);
  report.exposed_share = shares[0];
  return report;
}

}  // namespace tutti::train
