#include "tutti/train/internal/stepper.h"

#include <fmt/format.h>

#include <cmath>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/random.h"
#include "tutti/train/batch_norm.h"
#include "tutti/train/process_setup.h"
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
      const Pipeline::Passed passed = parts_.pipeline->run(batch, seed, before_last);
      report.times.waited += passed.waited;
      knows_loss(passed.loss);
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
  finish_update(update, shared, was_finite, report);
}

void Stepper::finish_update(std::size_t update, const Shared& shared, bool was_finite,
                            StepReport& report) {
  Strategy& strategy = parts_.updates.strategy(update);
  const bool is_loss_good = shared.not_finite == 0;
  const Reduced reduced = strategy.reduce(is_loss_good);
  // Ranks of a stage know of each other; all stages must do the same.
  struct {
    float is_not_usable, has_overflowed, wants_checkpoint, wants_stop;
  } all = {reduced.is_usable ? 0.f : 1.f, reduced.has_overflowed ? 1.f : 0.f,
           shared.wants_checkpoint, shared.wants_stop};
  if (parts_.pipeline)
    parts_.pipeline->agree({reinterpret_cast<float*>(&all), sizeof all / sizeof(float)});
  const StepTimes times =
      strategy.finish(parts_.updates.number(update, step_), report.rate,
                      1 / static_cast<float>(parts_.accumulate()), all.is_not_usable == 0);
  report.times.waited += reduced.waited + times.waited;
  report.times.staleness = times.staleness;
  report.losses.emplace_back(parts_.updates.name(update), shared.loss);
  report.is_checkpoint_due = all.wants_checkpoint > 0;
  report.is_stop_asked = report.is_stop_asked || all.wants_stop > 0;
  if (is_loss_good && all.has_overflowed == 0) return;
  report.is_good = false;
  if (!was_finite) complain("loss", bad_place());
  if (all.has_overflowed > 0 && !strategy.bad_layer().empty())
    complain("gradient", "layer " + strategy.bad_layer());
  end_if_hopeless();
}

torch::Tensor Stepper::loss_of(std::size_t update, const Batch& batch, std::uint64_t seed) {
  if (!norm_group_) return precise_loss(parts_.task, parts_.options, update, batch, seed);
  const SharedNorms shared(*norm_group_);
  return precise_loss(parts_.task, parts_.options, update, batch, seed);
}

// The layer whose weight or gradient is the first that is not finite.
std::string Stepper::bad_place() const {
  const std::vector<torch::Tensor>& tensors = parts_.parameters.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].isfinite().all().item<bool>() ||
        !tensors[i].grad().isfinite().all().item<bool>())
      return "layer " + parts_.parameters.segments()[i].name;
  return "the loss only";
}

// On the ranks where it is so.
void Stepper::complain(const std::string& what, const std::string& where) {
  const char* how = what == "gradient" ? "not finite, or too large to be squared" : "not finite";
  log::warning("DDL-9-61 Step {}: the {} of rank {} is {} ({}). The step is skipped.", step_ + 1,
               what, parts_.rank, how, where);
  parts_.log.events().write("not_finite", {{"step", step_ + 1}, {"what", what}, {"where", where}});
}

// The end of the run is told by one rank of those that take steps together.
void Stepper::end_if_hopeless() {
  if (bad_steps_ + 1 < parts_.options.integer("bad_steps")) return;
  const bool tells = parts_.pipeline ? parts_.rank == 0 : parts_.strategy.group().rank() == 0;
  if (!tells) throw AlreadyTold(1);
  throw ComputeError(
      "DDL-9-60", fmt::format("{} steps in a row had a loss or gradient that is not finite. Lower "
                              "learning_rate, set clip_norm, or look at the data; `--resume {}` "
                              "starts from the last checkpoint.",
                              bad_steps_ + 1, parts_.job.folder.string()));
}

}  // namespace tutti::train
