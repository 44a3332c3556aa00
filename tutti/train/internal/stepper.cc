#include "tutti/train/internal/stepper.h"

#include <fmt/format.h>

#include <cmath>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/random.h"
#include "tutti/train/batch_norm.h"
#include "tutti/train/collective_guard.h"
#include "tutti/train/process_setup.h"

// One training step on one rank.
//
// A step has one update for most networks, and several for a GAN (discriminator on real and on generated samples, then
// the generator); all updates use the same batches. An update
//   1. runs a forward and a backward pass for each of the `accumulate` batches, which add up their gradients;
//   2. before the last backward pass, starts an all-reduce of four numbers in the background: the loss, whether it is
//      not finite, and whether a checkpoint or a stop is requested. The strategy starts to reduce gradients as soon as
//      the last backward pass has computed them (last_backward);
//   3. waits for the four numbers and the gradients. With a pipeline, its stages exchange their results too, so all
//      ranks take the same decision;
//   4. updates the weights. If a loss or gradient of any rank is not finite, all ranks skip the update; after
//      `max_nonfinite_steps` consecutive steps of this kind the run ends.
namespace tutti::train {

Stepper::Stepper(RunContext& context) : context_(context) {
  if (context.options.flag("sync_batch_norm")) norm_group_ = context.strategy.group().split(0);
}

StepReport Stepper::take(Loader& loader, std::int64_t step, double rate, bool wants_checkpoint) {
  step_ = step;
  StepReport report;
  report.rate = rate;
  batches_.clear();
  for (std::size_t update = 0; update < context_.updates.size(); ++update) {
    const bool wants_stop = context_.job.stop && context_.job.stop->stop_requested();
    take_update(update, loader, {0, 0, wants_checkpoint ? 1.f : 0.f, wants_stop ? 1.f : 0.f},
                report);
  }
  nonfinite_steps_ = report.is_finite ? 0 : nonfinite_steps_ + 1;
  return report;
}

void Stepper::take_update(std::size_t update, Loader& loader, Shared shared, StepReport& report) {
  const StepUpdates::FreezeOthers freeze(context_.updates, update);
  Strategy& strategy = context_.updates.strategy(update);
  comm::Communicator& group = strategy.group();
  strategy.begin();
  bool was_finite = true;
  comm::Work shared_work;
  const std::int64_t parts = context_.accumulate();
  for (std::int64_t part = 0; part < parts; ++part) {
    if (update == 0) batches_.push_back(loader.next());
    Batch& batch = batches_[static_cast<std::size_t>(part)];
    const std::uint64_t number =
        (static_cast<std::uint64_t>(step_) * parts + part) * strategy.group_size() + group.rank();
    const std::uint64_t seed = mixed_seed(context_.seed(), number);
    const bool is_last = part + 1 == parts;
    auto add_loss = [&](float value) {
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
    if (context_.pipeline) {
      const Pipeline::Passed passed = context_.pipeline->run(batch, seed, before_last);
      report.times.waited += passed.waited;
      add_loss(passed.loss);
    } else {
      const torch::Tensor loss = loss_of(update, batch, seed);
      add_loss(loss.item<float>());
      before_last();
      loss.backward();
    }
    if (update + 1 == context_.updates.size()) batch = Batch();
  }
  const Stopwatch watch;
  shared_work.wait();
  report.times.waited += watch.seconds();
  finish_update(update, shared, was_finite, report);
}

void Stepper::finish_update(std::size_t update, const Shared& shared, bool was_finite,
                            StepReport& report) {
  Strategy& strategy = context_.updates.strategy(update);
  const bool is_loss_finite = shared.not_finite == 0;
  const Reduced reduced = strategy.reduce(is_loss_finite);
  // The reduction covers the ranks of one stage; all stages must take the same decision.
  struct {
    float is_not_usable, has_overflowed, wants_checkpoint, wants_stop;
  } all = {reduced.is_usable ? 0.f : 1.f, reduced.has_overflowed ? 1.f : 0.f,
           shared.wants_checkpoint, shared.wants_stop};
  if (context_.pipeline)
    context_.pipeline->agree({reinterpret_cast<float*>(&all), sizeof all / sizeof(float)});
  const StepTimes times =
      strategy.finish(context_.updates.number(update, step_), report.rate,
                      1 / static_cast<float>(context_.accumulate()), all.is_not_usable == 0);
  report.times.waited += reduced.waited + times.waited;
  report.times.staleness = times.staleness;
  report.losses.emplace_back(context_.updates.name(update), shared.loss);
  report.is_checkpoint_due = all.wants_checkpoint > 0;
  report.stop_requested = report.stop_requested || all.wants_stop > 0;
  if (is_loss_finite && all.has_overflowed == 0) return;
  report.is_finite = false;
  if (!was_finite) report_nonfinite("loss", nonfinite_location());
  if (all.has_overflowed > 0 && !strategy.nonfinite_layer().empty())
    report_nonfinite("gradient", "layer " + strategy.nonfinite_layer());
  end_if_nonfinite_too_long();
}

torch::Tensor Stepper::loss_of(std::size_t update, const Batch& batch, std::uint64_t seed) {
  if (!norm_group_) return precise_loss(context_.task, context_.options, update, batch, seed);
  const SyncBatchNormScope shared(*norm_group_);
  return precise_loss(context_.task, context_.options, update, batch, seed);
}

// The first layer with a non-finite weight or gradient.
std::string Stepper::nonfinite_location() const {
  const std::vector<torch::Tensor>& tensors = context_.parameters.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].isfinite().all().item<bool>() ||
        !tensors[i].grad().isfinite().all().item<bool>())
      return "layer " + context_.parameters.segments()[i].name;
  return "the loss only";
}

// Called on the affected ranks only.
void Stepper::report_nonfinite(const std::string& what, const std::string& where) {
  const char* how = what == "gradient" ? "not finite, or its square overflows" : "not finite";
  log::warning("DDL-9-61 Step {}: the {} of rank {} is {} ({}). The step is skipped.", step_ + 1,
               what, context_.rank, how, where);
  context_.log.events().write("not_finite",
                              {{"step", step_ + 1}, {"what", what}, {"where", where}});
}

// One rank of the group, or of the pipelines, reports the end of the run.
void Stepper::end_if_nonfinite_too_long() {
  if (nonfinite_steps_ + 1 < context_.options.integer("max_nonfinite_steps")) return;
  const bool reports =
      context_.pipeline ? context_.rank == 0 : context_.strategy.group().rank() == 0;
  if (!reports) throw ReportedByAnotherRank(1);
  throw ComputeError(
      "DDL-9-60",
      fmt::format(
          "{} consecutive steps had a non-finite loss or gradient. Lower learning_rate, set "
          "clip_norm, or check the data; `--resume {}` resumes from the last checkpoint.",
          nonfinite_steps_ + 1, context_.job.folder.string()));
}

}  // namespace tutti::train
