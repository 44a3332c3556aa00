#include <torch/torch.h>

#include <algorithm>

#include "tutti/core/clock.h"
#include "tutti/train/engine.h"
#include "tutti/train/strategy.h"
#include "tutti/train/trainer.h"

namespace tutti::train {

SpeedReport measure_speed(Task& task, comm::Communicator& communicator, const Options& options,
                          int steps) {
  constexpr int kWarmUp = 3;
  task.model().train();
  FlatParameters parameters(task.model(), communicator, options.flag("channels_last"),
                            gradient_buffers(options));
  Optimizer optimizer(update_settings(options), parameters.segments());
  const std::unique_ptr<Strategy> strategy =
      make_strategy({communicator, task.model(), options, parameters, optimizer});
  const std::int64_t batch_size = options.integer("batch");
  const Batch batch = task.random_batch(batch_size);
  SpeedReport report;
  std::vector<double> seconds(static_cast<std::size_t>(steps));
  double waited = 0;
  for (int step = -kWarmUp; step < steps; ++step) {
    communicator.barrier({.name = "step"});
    const Stopwatch watch;
    strategy->begin();
    const torch::Tensor loss =
        precise_loss(task, options, batch, static_cast<std::uint64_t>(step + kWarmUp));
    strategy->last_backward();
    loss.backward();
    const StepTimes times = strategy->finish(step + kWarmUp + 1, 1e-4, 1, true);
    if (step < 0) continue;
    seconds[static_cast<std::size_t>(step)] = watch.seconds();
    waited += times.waited;
  }
  communicator.all_reduce(Buffer::of(std::span(seconds)), ReduceOp::kMax, {.name = "seconds"});
  communicator.all_reduce(Buffer::of(std::span(&waited, 1)), ReduceOp::kAverage,
                          {.name = "waited"});
  report.step_seconds = seconds;
  double sum = 0;
  for (double each : seconds) sum += each;
  std::sort(seconds.begin(), seconds.end());
  report.samples_per_second =
      double(batch_size) * communicator.size() / seconds[seconds.size() / 2];
  report.exposed_share = waited / sum;
  return report;
}

}  // namespace tutti::train
