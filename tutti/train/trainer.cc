#include "tutti/train/trainer.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <cmath>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/train/collective_guard.h"
#include "tutti/train/internal/evaluation.h"
#include "tutti/train/internal/run_context.h"
#include "tutti/train/internal/run_state.h"
#include "tutti/train/internal/step_rows.h"
#include "tutti/train/internal/stepper.h"
#include "tutti/train/internal/throughput_meter.h"
#include "tutti/train/optim/schedule.h"
#include "tutti/train/process_setup.h"
#include "tutti/train/run/config.h"
#include "tutti/train/run/plots.h"

namespace tutti::train {
namespace {

// Trains one run on one rank.
//
// Ranks either train or, as parameter servers, answer requests until all others have left (Strategy::serve). The ranks
// that train form groups; the ranks of a group take every step together. With the strategies `sync` and `local_sgd` all
// ranks are one group.
//
//   start    Restore the newest checkpoint of a resumed run. The run has `steps` steps, or those of `epochs`.
//   step     The strategy assigns step numbers to the group. The batches of the next step are requested before the
//            current step begins, so reading overlaps with computation. Stepper::take computes gradients and updates
//            the weights. Each step adds one row to metrics.csv.
//   epoch    A group whose next step belongs to a later epoch waits for the other groups. All of them agree on the
//            weights, evaluate them (their moving average, with ema_decay) every `evaluate_every` epochs, and write a
//            checkpoint. Rank 0 also keeps the best weights.
//   end      The run ends after the last epoch. With a validation set, train() then evaluates the best weights on the
//            test set.
//
// Two decisions depend on one rank but must be the same on all: to write a checkpoint because the last one is old (rank
// 0) and to stop after a signal (any rank). They travel with the reduction of the losses, so every rank of the group
// learns of them in the same step.
class Trainer {
 public:
  Trainer(Task& task, comm::Communicator& communicator, const TrainJob& job)
      : world_(communicator),
        context_(task, communicator, job),
        state_(context_, communicator),
        rows_(context_),
        line_(context_.rank == 0),
        step_(state_.start().step) {
    if (!strategy().trains()) return;
    length_ = length_of_run();
    schedule_ = make_schedule(options(), strategy().group_size(), scheduled(length_.total_steps));
  }

  TrainOutcome run() {
    if (!strategy().trains()) {
      strategy().serve(step_);
      return outcome_;
    }
    Loader loader(context_.task, Sampler(context_.task.train_samples(), length_.epoch_schedule,
                                         options().integer("batch"), strategy().group().rank(),
                                         strategy().group_size(), context_.seed()));
    Stepper stepper(context_);
    if (context_.rank == 0) announce();
    ThroughputMeter meter(context_, length_, step_);
    try {
      take_steps(loader, stepper, meter);
    } catch (const Error& error) {
      // Otherwise servers and other groups would wait for this rank.
      if (!strategy().is_synchronous()) world_.abandon(error.what());
      throw;
    }
    line_.finish();
    outcome_.seconds = meter.seconds();
    outcome_.samples_per_second = meter.samples_per_second();
    outcome_.exposed_share = meter.exposed_share();
    outcome_.steps = step_;
    strategy().leave();
    state_.finish();
    if (outcome_.was_stopped) world_.barrier({.name = "stopped"});
    return outcome_;
  }

 private:
  const Options& options() const { return context_.options; }
  Strategy& strategy() { return context_.strategy; }

  RunLength length_of_run() {
    const std::int64_t samples = context_.task.train_samples(),
                       step_samples = options().integer("batch") * context_.accumulate() *
                                      strategy().group_size();
    RunLength length;
    // A checkpoint without position is assumed to have been reached with steps of this size.
    length.epoch_schedule = state_.knows_position() ? EpochSchedule(samples, step_samples, step_,
                                                                    state_.start().position)
                                                    : EpochSchedule(samples, step_samples);
    length.total_steps = options().integer("steps") > 0
                             ? options().integer("steps")
                             : length.epoch_schedule.steps_until(options().number("epochs"));
    // Steps already taken stay if fewer are requested afterwards.
    length.total_steps = std::max(length.total_steps, step_);
    return length;
  }

  // Number of a step in the learning rate schedule. Epochs are counted in steps of one size, so a run whose step size
  // changes keeps its position. `steps` are counted as taken.
  std::int64_t scheduled(std::int64_t step) const {
    return options().integer("steps") > 0 ? step : length_.epoch_schedule.even_step(step);
  }

  TrainingPosition reached() const {
    const TrainingPosition& start = state_.start();
    const std::int64_t taken = step_ - (state_.knows_position() ? start.step : 0);
    return {step_, start.samples + taken * length_.epoch_schedule.step_samples(),
            length_.epoch_schedule.position(step_)};
  }

  // Printed before the first step, which may take minutes.
  void announce() {
    if (step_ == length_.total_steps)
      fmt::print("All {} steps were taken before; to continue, set larger `epochs` or `steps`.\n",
                 step_);
    fmt::print("{}", plan_text({context_.parameters.size(), context_.task.train_samples(),
                                length_.total_steps - step_, length_.step_samples(),
                                context_.task.flops_per_sample(),
                                peak_flops(options()) * strategy().workers().size()}));
    fflush(stdout);
  }

  // A group takes the steps it is assigned, and evaluates together with the others when its next step is after the end
  // of an epoch.
  void take_steps(Loader& loader, Stepper& stepper, ThroughputMeter& meter) {
    auto ask = [&](std::int64_t step) {
      for (std::int64_t part = 0; part < context_.accumulate(); ++part) loader.ask(step, part);
      return step;
    };
    std::int64_t epoch_end = length_.end_of_epoch(step_);
    std::int64_t step = ask(strategy().first_step(step_));
    std::int64_t next = ask(strategy().next_step(step));
    for (;;) {
      for (; step >= epoch_end; epoch_end = length_.end_of_epoch(epoch_end)) {
        end_epoch(epoch_end);
        if (epoch_end == length_.total_steps) return;
      }
      meter.begin_step();
      const StepReport report =
          stepper.take(loader, step, schedule_.rate(scheduled(step)), state_.is_checkpoint_late());
      step_ = step + 1;
      state_.update_average();
      rows_.add(step_, length_.epoch(step_), meter.end_step(step, report));
      line_.show(progress_text(meter.progress()));
      // After the last step the run ends anyway.
      outcome_.was_stopped = report.stop_requested && step_ < length_.total_steps;
      if (outcome_.was_stopped) return state_.write(reached());
      if (step_ < epoch_end && (report.is_checkpoint_due || state_.is_checkpoint_step(step_)))
        state_.write(reached());
      step = next;
      next = ask(strategy().next_step(step));
    }
  }

  void end_epoch(std::int64_t steps) {
    step_ = steps;
    if (step_ == length_.total_steps || length_.epoch_schedule.even_step(step_) /
                                                length_.epoch_schedule.steps_per_epoch() %
                                                options().integer("evaluate_every") ==
                                            0)
      evaluate();
    state_.write(reached());
  }

  void evaluate() {
    rows_.share();
    strategy().agree();
    if (!strategy().is_synchronous()) state_.agree_on_average(strategy().workers());
    state_.gather();
    const RunState::Averaged averaged(state_);
    const double epoch = length_.epoch(step_);
    const std::string what =
        fmt::format("epoch {:.4g}{}", epoch, context_.task.has_validation() ? ", validation" : "");
    const bool draws = step_ == length_.total_steps && !context_.task.has_validation();
    line_.finish();
    context_.task.evaluate_on(EvalSplit::kValidation);
    outcome_.metrics =
        evaluate_task(context_.task, strategy().workers(),
                      draws ? context_.job.folder / "plots" : std::filesystem::path(), what, line_);
    outcome_.evaluated_step = step_;
    context_.task.evaluate_on(EvalSplit::kTest);
    context_.task.model().train();
    context_.log.validation(step_, epoch, outcome_.metrics);
    if (context_.rank != 0) return;
    line_.clear();
    const bool is_best = state_.is_best(outcome_.metrics);
    if (!outcome_.metrics.empty() && !std::isfinite(outcome_.metrics[0].second))
      log::warning(
          "DDL-9-67 Step {}: {} is not finite, so these weights cannot become the best ones. Lower "
          "learning_rate, set clip_norm, or check the data.",
          step_, outcome_.metrics[0].first);
    fmt::print("{}\n", evaluation_text(what, outcome_.metrics, is_best));
    fflush(stdout);
    if (is_best) state_.keep_best(reached(), outcome_.metrics);
  }

  comm::Communicator& world_;
  RunContext context_;
  RunState state_;
  StepRows rows_;
  ProgressLine line_;
  RunLength length_;
  Schedule schedule_;
  std::int64_t step_;  // steps taken
  TrainOutcome outcome_;
};

}  // namespace

bool can_stop(const Options& options) {
  return is_synchronous(options);
}

TrainOutcome train(Task& task, comm::Communicator& communicator, const TrainJob& job) {
  task.model().train();
  std::optional<Trainer> trainer;
  collective_guard(communicator, [&] { trainer.emplace(task, communicator, job); });
  if (communicator.rank() == 0) fmt::print("run: {}\n", job.folder.string());
  fflush(stdout);
  TrainOutcome outcome = trainer->run();
  trainer.reset();  // restores the parameters of the network
  // The only evaluation on the test set, with the weights that the validation set selected.
  if (task.has_validation() && !outcome.was_stopped) {
    SavedResult best;
    collective_guard(communicator,
                     [&] { best = evaluate_run(task, communicator, job, job.folder / "plots"); });
    outcome.metrics = best.metrics;
    outcome.evaluated_step = best.step;
    outcome.is_best = best.is_best;
  }
  if (communicator.rank() == 0) plot_run(job.folder);
  return outcome;
}

}  // namespace tutti::train
