#include "tutti/train/internal/stepper.h"

#include <fmt/format.h>

#include <cmath>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/train/batch_norm.h"
#include "tutti/train/engine.h"
#include "tutti/train/together.h"

namespace tutti::train {

Stepper::Stepper(RunParts& parts) : parts_(parts) {
  if (parts.options.flag("sync_batch_norm")) norm_group_ = parts.strategy.group().split(0);
}

StepReport Stepper::take(Loader& loader, std::int64_t step, double rate, bool wants_checkpoint) {
  step_ = step;
  StepReport report;
  report.rate = rate;
  batches_.clear();
  for (std::size_t update = 0; update < parts_.updates.size(); ++update) {
    const bool wants_stop = parts_.job.stop && parts_.job.stop->is_asked();
    take_update(update, loader, {0, 0, wants_checkpoint ? 1.f : 0.f, wants_stop ? 1.f : 0.f},
                report);
  }
  bad_steps_ = report.is_good ? 0 : bad_steps_ + 1;
  return report;
}

void Stepper::take_update(std::size_t update, Loader& loader, Shared shared, StepReport& report) {
  const StepUpdates::Alone alone(parts_.updates, update);
  Strategy& strategy = parts_.updates.strategy(update);
  comm::Communicator& group = strategy.group();
  strategy.begin();
  bool was_finite = true;
  comm::Work shared_work;
  const std::int64_t parts = parts_.accumulate();
  for (std::int64_t part = 0; part < parts; ++part) {
    if (update == 0) batches_.push_back(loader.next());
    Batch& batch = batches_[static_cast<std::size_t>(part)];
    const std::uint64_t number =
        (static_cast<std::uint64_t>(step_) * parts + part) * strategy.group_size() + group.rank();
    const std::uint64_t seed = mixed_seed(parts_.seed(), number);
    const bool is_last = part + 1 == parts;
    auto knows_loss = [&](float value) {
      shared.loss += value / static_cast<float>(parts);
      was_finite = was_finite && std::isfinite(value);
      shared.not_finite = was_finite ? 0 : 1;
      const Buffer values{&shared, sizeof shared / sizeof(float), DType::kF32};
      if (is_last)
        shared_work = group.all_reduce_async(values, values, ReduceOp::kAverage, {.name = "loss"});
    };
    auto before_last = [&] {
      if (is_last) strategy.last_backward();
    };
    if (parts_.pipeline) {
      knows_loss(parts_.pipeline->run(batch, seed, before_last));
    } else {
      const torch::Tensor loss = loss_of(update, batch, seed);
      knows_loss(loss.item<float>());
      before_last();
      loss.backward();
    }
    if (update + 1 == parts_.updates.size()) batch = Batch();
  }
  const Stopwatch watch;
  shared_work.wait();
  report.times.waited += watch.seconds();
  const bool is_good = shared.not_finite == 0;
  const StepTimes times = strategy.finish(parts_.updates.number(update, step_), report.rate,
                                          1 / static_cast<float>(parts), is_good);
  report.times.waited += times.waited;
  report.times.staleness = times.staleness;
  report.losses.emplace_back(parts_.updates.name(update), shared.loss);
  report.is_good = report.is_good && is_good;
  if (!is_good) complain(was_finite);
  report.is_checkpoint_due = shared.wants_checkpoint > 0;
  report.is_stop_asked = report.is_stop_asked || shared.wants_stop > 0;
}

torch::Tensor Stepper::loss_of(std::size_t update, const Batch& batch, std::uint64_t seed) {
  if (!norm_group_) return precise_loss(parts_.task, parts_.options, update, batch, seed);
  const SharedNorms shared(*norm_group_);
  return precise_loss(parts_.task, parts_.options, update, batch, seed);
}

// Names the layer whose gradient, or weight, is the first that is not finite, on the ranks where
// it is so; the end of the run is told by one rank of the group.
void Stepper::complain(bool was_finite) {
  std::string where = "the loss only";
  const std::vector<torch::Tensor>& tensors = parts_.parameters.tensors();
  for (std::size_t i = 0; i < tensors.size() && !was_finite; ++i) {
    if (tensors[i].isfinite().all().item<bool>() && tensors[i].grad().isfinite().all().item<bool>())
      continue;
    where = "layer " + parts_.parameters.segments()[i].name;
    break;
  }
  if (!was_finite) {
    log::warning("DDL-9-61 Step {}: the loss of rank {} is not finite ({}). The step is skipped.",
                 step_ + 1, parts_.rank, where);
    parts_.log.events().write("not_finite", {{"step", step_ + 1}, {"where", where}});
  }
  if (bad_steps_ + 1 < parts_.options.integer("bad_steps")) return;
  if (parts_.strategy.group().rank() != 0) throw AlreadyTold(1);
  throw CommError(
      "DDL-9-60",
      fmt::format("{} steps in a row had a loss that is not finite. Lower learning_rate, set "
                  "clip_norm, or look at the data; `--resume {}` starts from the last checkpoint.",
                  bad_steps_ + 1, parts_.job.folder.string()));
}

}  // namespace tutti::train
