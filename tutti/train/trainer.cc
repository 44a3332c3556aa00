#include "tutti/train/trainer.h"

#include <fmt/format.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cmath>
#include <future>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/train/batch_norm.h"
#include "tutti/train/engine.h"
#include "tutti/train/loader.h"
#include "tutti/train/pipeline.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/run/progress.h"
#include "tutti/train/run/schedule.h"
#include "tutti/train/together.h"
#include "tutti/train/updates.h"

namespace tutti::train {
namespace {

constexpr int kWarmUpSteps = 3;  // not counted in the speed: memory is found, kernels are made

// Shows how far an evaluation is. `line` must outlive the result.
std::function<void(std::int64_t, std::int64_t)> judged_on(ProgressLine& line, double epoch) {
  return [&line, epoch, watch = Stopwatch()](std::int64_t done, std::int64_t all) {
    line.show(judged_text(epoch, done, all, watch.seconds()));
  };
}

class Trainer {
 public:
  Trainer(Task& task, comm::Communicator& communicator, const TrainJob& job)
      : task_(task),
        job_(job),
        options_(job.options),
        pipeline_(make_pipeline(task, communicator, options_)),
        parameters_(task.model(), communicator, options_.flag("channels_last"),
                    gradient_buffers(options_)),
        optimizer_(update_settings(options_), parameters_.segments()),
        updates_(task, strategy_parts(communicator)),
        strategy_(&updates_.strategy()),
        log_(job.folder, communicator.rank()),
        checkpoints_(job.folder / "checkpoints",
                     static_cast<int>(options_.integer("keep_checkpoints"))),
        rank_(communicator.rank()) {
    communicator.broadcast(Buffer::of(parameters_.weights()), 0, {.name = "weights"});
    if (job.resumes) resume(communicator);
    if (options_.number("average_decay") > 0 && average_.empty())
      average_.assign(parameters_.weights().begin(), parameters_.weights().end());
  }

  TrainOutcome run() {
    if (!strategy_->trains()) {
      strategy_->serve(step_);
      return outcome_;
    }
    Sampler sampler(task_.train_samples(), options_.integer("batch"), strategy_->group().rank(),
                    strategy_->group_size(), seed());
    steps_per_epoch_ = std::max<std::int64_t>(1, sampler.steps_per_epoch() / accumulate());
    total_steps_ = options_.integer("steps") > 0
                       ? options_.integer("steps")
                       : std::llround(options_.number("epochs") * double(steps_per_epoch_));
    schedule_ = make_schedule(options_, strategy_->group_size(), total_steps_);
    step_samples_ = double(options_.integer("batch") * accumulate() * strategy_->group_size());
    Loader loader(task_, sampler);
    if (options_.flag("sync_batch_norm")) norm_group_ = strategy_->group().split(0);
    ProgressLine line(rank_ == 0);
    if (rank_ == 0) announce();
    watch_.restart();
    take_steps(loader, line);
    outcome_.seconds = watch_.seconds();
    outcome_.steps = step_;
    strategy_->leave();
    if (writing_.valid()) writing_.get();
    if (outcome_.was_stopped) strategy_->workers().barrier({.name = "stopped"});
    return outcome_;
  }

 private:
  static std::unique_ptr<Pipeline> make_pipeline(Task& task, comm::Communicator& communicator,
                                                 const Options& options) {
    const int stages = static_cast<int>(options.integer("stages"));
    if (stages == 1) return nullptr;
    if (options.text("strategy") != "sync")
      throw ConfigError("DDL-1-98", "`stages` above 1 needs strategy sync.");
    const bool casts = !task.casts_itself() && compute_type(options) == torch::kBFloat16;
    return std::make_unique<Pipeline>(
        task, communicator,
        PipelineShape{stages, static_cast<int>(options.integer("micro_batches")), casts});
  }

  StrategyParts strategy_parts(comm::Communicator& communicator) {
    StrategyParts parts{pipeline_ ? pipeline_->replicas() : communicator, task_.model(), options_,
                        parameters_, optimizer_};
    if (pipeline_) {
      parts.first_tensor = pipeline_->first_tensor();
      parts.last_tensor = pipeline_->last_tensor();
    }
    return parts;
  }

  // A first step may take minutes.
  void announce() {
    fmt::print("{}", plan_text({parameters_.size(), task_.train_samples(), total_steps_ - step_,
                                step_samples_, task_.flops_per_sample(),
                                peak_flops(options_) * strategy_->workers().size()}));
    fflush(stdout);
  }

  std::uint64_t seed() const { return static_cast<std::uint64_t>(options_.integer("seed")); }
  std::int64_t accumulate() const { return options_.integer("accumulate"); }
  double epoch() const { return double(step_) / double(steps_per_epoch_); }

  // Group by group: a group takes the steps it is given, and evaluates with the others when the
  // next one lies behind the end of an epoch.
  void take_steps(Loader& loader, ProgressLine& line) {
    auto ask = [&](std::int64_t step) {
      for (std::int64_t part = 0; part < accumulate(); ++part)
        loader.ask(step * accumulate() + part);
      return step;
    };
    previous_step_ = step_ - 1;
    std::int64_t epoch_end = end_of_epoch(step_);
    std::int64_t step = ask(strategy_->first_step(step_));
    std::int64_t next = ask(strategy_->next_step(step));
    for (;;) {
      for (; step >= epoch_end; epoch_end = end_of_epoch(epoch_end)) {
        step_ = epoch_end;
        if (step_ == total_steps_ ||
            step_ / steps_per_epoch_ % options_.integer("evaluate_every") == 0)
          evaluate(line, strategy_->workers());
        write_checkpoint();
        if (epoch_end == total_steps_) return;
      }
      one_step(loader, step);
      show(line);
      if (outcome_.was_stopped && step_ < total_steps_) return write_checkpoint();
      outcome_.was_stopped = false;  // the last step ends it anyway
      if (step_ < epoch_end && (is_checkpoint_due_ || is_checkpoint_step())) write_checkpoint();
      step = next;
      next = ask(strategy_->next_step(step));
    }
  }

  std::int64_t end_of_epoch(std::int64_t step) const {
    return std::min(total_steps_, (step / steps_per_epoch_ + 1) * steps_per_epoch_);
  }

  struct StepSums {
    Metrics losses;  // of the updates, by name
    StepTimes times;
    double rate = 0;
    bool is_good = true;
  };

  void one_step(Loader& loader, std::int64_t step) {
    step_watch_.restart();
    step_ = step;
    StepSums sums;
    sums.rate = schedule_.rate(step_);
    std::vector<Batch> batches;  // all updates of a step use the same
    for (std::size_t update = 0; update < updates_.size(); ++update)
      take_update(update, loader, batches, sums);
    bad_steps_ = sums.is_good ? 0 : bad_steps_ + 1;
    ++step_;
    follow_average();
    account(sums);
  }

  void take_update(std::size_t update, Loader& loader, std::vector<Batch>& batches,
                   StepSums& sums) {
    const StepUpdates::Alone alone(updates_, update);
    Strategy& strategy = updates_.strategy(update);
    comm::Communicator& group = strategy.group();
    strategy.begin();
    // Mean loss, share of ranks without a finite one, whether rank 0 wants a checkpoint, whether a
    // signal wants an end.
    float shared[4] = {0, 0, wants_checkpoint() ? 1.f : 0.f,
                       job_.stop && job_.stop->is_asked() ? 1.f : 0.f};
    bool was_finite = true;
    comm::Work shared_work;
    for (std::int64_t part = 0; part < accumulate(); ++part) {
      if (update == 0) batches.push_back(loader.next());
      Batch& batch = batches[static_cast<std::size_t>(part)];
      const std::uint64_t number =
          (static_cast<std::uint64_t>(step_) * accumulate() + part) * strategy.group_size() +
          group.rank();
      const bool is_last = part + 1 == accumulate();
      auto knows_loss = [&](float value) {
        shared[0] += value / static_cast<float>(accumulate());
        was_finite = was_finite && std::isfinite(value);
        shared[1] = was_finite ? 0 : 1;
        if (is_last)
          shared_work = group.all_reduce_async({shared, 4, DType::kF32}, {shared, 4, DType::kF32},
                                               ReduceOp::kAverage, {.name = "loss"});
      };
      if (pipeline_) {
        auto before_last = [&] {
          if (is_last) strategy.last_backward();
        };
        knows_loss(pipeline_->run(batch, mixed_seed(seed(), number), before_last));
      } else {
        const torch::Tensor loss = loss_of(update, batch, mixed_seed(seed(), number));
        knows_loss(loss.item<float>());
        if (is_last) strategy.last_backward();
        loss.backward();
      }
      if (update + 1 == updates_.size()) batch = Batch();
    }
    const Stopwatch watch;
    shared_work.wait();
    sums.times.waited += watch.seconds();
    const bool is_good = shared[1] == 0;
    const StepTimes times = strategy.finish(updates_.number(update, step_), sums.rate,
                                            1 / static_cast<float>(accumulate()), is_good);
    sums.times.waited += times.waited;
    sums.times.staleness = times.staleness;
    sums.losses.emplace_back(updates_.name(update), shared[0]);
    sums.is_good = sums.is_good && is_good;
    if (!is_good) complain(was_finite);
    is_checkpoint_due_ = shared[2] > 0;
    outcome_.was_stopped = outcome_.was_stopped || shared[3] > 0;
  }

  torch::Tensor loss_of(std::size_t update, const Batch& batch, std::uint64_t seed) {
    if (!norm_group_) return precise_loss(task_, options_, update, batch, seed);
    const SharedNorms shared(*norm_group_);
    return precise_loss(task_, options_, update, batch, seed);
  }

  // Names the layer whose gradient, or weight, is the first that is not finite, on the ranks where
  // it is so; the end of the run is told by one rank of the group.
  void complain(bool was_finite) {
    std::string where = "the loss only";
    for (std::size_t i = 0; i < parameters_.tensors().size() && !was_finite; ++i) {
      const torch::Tensor& tensor = parameters_.tensors()[i];
      if (tensor.isfinite().all().item<bool>() && tensor.grad().isfinite().all().item<bool>())
        continue;
      where = "layer " + parameters_.segments()[i].name;
      break;
    }
    if (!was_finite) {
      log::warning("DDL-9-61 Step {}: the loss of rank {} is not finite ({}). The step is skipped.",
                   step_ + 1, rank_, where);
      log_.events().write("not_finite", {{"step", step_ + 1}, {"where", where}});
    }
    if (bad_steps_ + 1 < options_.integer("bad_steps")) return;
    if (strategy_->group().rank() != 0) throw AlreadyTold(1);
    throw CommError(
        "DDL-9-60",
        fmt::format(
            "{} steps in a row had a loss that is not finite. Lower learning_rate, set "
            "clip_norm, or look at the data; `--resume {}` starts from the last checkpoint.",
            bad_steps_ + 1, job_.folder.string()));
  }

  void follow_average() {
    if (average_.empty()) return;
    const auto decay = static_cast<float>(options_.number("average_decay"));
    const std::span<float> weights = parameters_.weights();
    for (std::size_t i = 0; i < average_.size(); ++i)
      average_[i] = decay * average_[i] + (1 - decay) * weights[i];
  }

  void account(const StepSums& sums) {
    const double seconds = step_watch_.seconds();
    double loss = 0;
    for (const auto& [name, value] : sums.losses) loss += value / double(sums.losses.size());
    // Meanwhile other groups took the steps between.
    const double samples = step_samples_ * double(step_ - 1 - previous_step_);
    previous_step_ = step_ - 1;
    const double waited = std::min(seconds, sums.times.waited);
    if (++steps_here_ > kWarmUpSteps) {
      counted_seconds_ += seconds;
      counted_samples_ += samples;
      counted_wait_ += waited;
    }
    state_.loss = state_.step == 0 ? loss : 0.9 * state_.loss + 0.1 * loss;
    outcome_.samples_per_second =
        counted_seconds_ > 0 ? counted_samples_ / counted_seconds_ : samples / seconds;
    outcome_.exposed_share =
        counted_seconds_ > 0 ? counted_wait_ / counted_seconds_ : waited / seconds;
    Metrics metrics = {{"loss", loss},
                       {"learning_rate", sums.rate},
                       {"samples_per_second", samples / seconds},
                       {"waited", waited / seconds},
                       {"staleness", sums.times.staleness},
                       {"seconds", watch_.seconds()}};
    if (updates_.size() > 1) metrics.insert(metrics.end(), sums.losses.begin(), sums.losses.end());
    log_.step(step_, epoch(), metrics);
  }

  void show(ProgressLine& line) {
    state_.step = step_;
    state_.total_steps = total_steps_;
    state_.epoch = epoch();
    state_.epochs = double(total_steps_) / double(steps_per_epoch_);
    state_.samples_per_second = outcome_.samples_per_second;
    state_.flops_per_second = outcome_.samples_per_second * task_.flops_per_sample();
    state_.peak_flops = peak_flops(options_) * strategy_->workers().size();
    state_.exposed_share = outcome_.exposed_share;
    state_.seconds_left =
        double(total_steps_ - step_) * step_samples_ / std::max(1e-9, outcome_.samples_per_second);
    line.show(progress_text(state_));
  }

  // Every rank has then what other ranks keep for it: slices of moments, stages of a pipeline.
  void gather_state() {
    updates_.share_moments();
    if (!pipeline_) return;
    pipeline_->share_buffers();
    pipeline_->share(parameters_.weights(), parameters_.segments());
    if (!average_.empty()) pipeline_->share(average_, parameters_.segments());
    for (std::vector<float>& values : optimizer_.state())
      pipeline_->share(values, parameters_.segments());
  }

  void evaluate(ProgressLine& line, comm::Communicator& workers) {
    strategy_->agree();
    gather_state();
    std::vector<float> kept;
    const std::span<float> weights = parameters_.weights();
    if (!average_.empty()) {
      kept.assign(weights.begin(), weights.end());
      std::copy(average_.begin(), average_.end(), weights.begin());
    }
    const bool is_last = step_ == total_steps_;
    task_.model().eval();
    line.finish();
    task_.on_judged = judged_on(line, epoch());
    {
      const torch::NoGradGuard no_gradients;
      outcome_.metrics = task_.evaluate(
          workers, is_last && rank_ == 0 ? job_.folder / "plots" : std::filesystem::path());
    }
    task_.on_judged = {};
    task_.model().train();
    log_.validation(step_, epoch(), outcome_.metrics);
    if (rank_ == 0) {
      line.clear();
      const bool is_best = outcome_.metrics.empty() || outcome_.metrics[0].second > best_;
      fmt::print("{}\n", evaluation_text(epoch(), outcome_.metrics, is_best));
      fflush(stdout);
      if (is_best) {
        best_ = outcome_.metrics.empty() ? 0 : outcome_.metrics[0].second;
        checkpoints_.write_best(snapshot());
      }
    }
    if (!kept.empty()) std::copy(kept.begin(), kept.end(), weights.begin());
  }

  bool is_checkpoint_step() const {
    const std::int64_t every = options_.integer("checkpoint_steps");
    return every > 0 && step_ / every != checkpoint_step_ / every;
  }
  // Rank 0 looks at its watch, and the others of its group hear of it. Other stages of a pipeline
  // would not.
  bool wants_checkpoint() const {
    const double seconds = options_.number("checkpoint_seconds");
    return rank_ == 0 && !pipeline_ && options_.integer("checkpoint_steps") == 0 && seconds > 0 &&
           since_checkpoint_.seconds() > seconds;
  }

  Checkpoint snapshot() {
    Checkpoint checkpoint;
    checkpoint.step = step_;
    checkpoint.texts["case"] = job_.case_name;
    checkpoint.texts["best"] = fmt::format("{}", best_);
    checkpoint.put<float>("weights", parameters_.weights());
    checkpoint.put<float>("buffers", parameters_.buffers());
    for (std::size_t i = 0; i < optimizer_.state().size(); ++i)
      checkpoint.put<float>(fmt::format("optimizer.{}", i), optimizer_.state()[i]);
    if (!average_.empty()) checkpoint.put<float>("average", average_);
    return checkpoint;
  }

  // What is written is a copy, so training goes on meanwhile; the next one waits for this.
  void write_checkpoint() {
    since_checkpoint_.restart();
    checkpoint_step_ = step_;
    gather_state();
    if (rank_ != 0) return;
    if (writing_.valid()) writing_.get();
    writing_ = std::async(std::launch::async,
                          [this, checkpoint = snapshot()] { checkpoints_.write(checkpoint); });
  }

  void resume(comm::Communicator& communicator) {
    std::optional<Checkpoint> checkpoint = checkpoints_.newest();
    if (!checkpoint) {
      if (rank_ == 0)
        log::info("{} has no checkpoint yet; the run starts from its beginning.",
                  job_.folder.string());
      return;
    }
    auto bytes = [](auto& values) { return std::as_writable_bytes(std::span(values)); };
    checkpoint->get("weights", std::as_writable_bytes(parameters_.weights()));
    std::vector<float> buffers(parameters_.buffers().size());
    checkpoint->get("buffers", bytes(buffers));
    parameters_.set_buffers(buffers);
    for (std::size_t i = 0; i < optimizer_.state().size(); ++i)
      checkpoint->get(fmt::format("optimizer.{}", i), bytes(optimizer_.state()[i]));
    if (options_.number("average_decay") > 0) {
      average_.resize(static_cast<std::size_t>(parameters_.size()));
      checkpoint->get("average", bytes(average_));
    }
    step_ = checkpoint_step_ = checkpoint->step;
    best_ = std::strtod(checkpoint->texts["best"].c_str(), nullptr);
    if (rank_ == 0) {
      cut_metrics(job_.folder, step_ + 1);
      log::info("resumed at step {}", step_);
    }
    communicator.barrier({.name = "resumed"});
  }

  Task& task_;
  const TrainJob& job_;
  const Options& options_;
  std::unique_ptr<Pipeline> pipeline_;  // of model parallelism; or none
  FlatParameters parameters_;
  Optimizer optimizer_;
  StepUpdates updates_;
  Strategy* const strategy_;                        // of the first update
  std::unique_ptr<comm::Communicator> norm_group_;  // of synchronised batch norm; or none
  RunLog log_;
  CheckpointFolder checkpoints_;
  const int rank_;
  std::int64_t step_ = 0, steps_per_epoch_ = 1, total_steps_ = 0, steps_here_ = 0, bad_steps_ = 0;
  std::int64_t previous_step_ = -1;   // the last that this group took
  std::int64_t checkpoint_step_ = 0;  // of the newest checkpoint
  bool is_checkpoint_due_ = false;
  double step_samples_ = 1;
  Schedule schedule_;
  std::vector<float> average_;
  double best_ = -std::numeric_limits<double>::infinity();
  double counted_seconds_ = 0, counted_samples_ = 0, counted_wait_ = 0;
  ProgressState state_;
  TrainOutcome outcome_;
  Stopwatch watch_, step_watch_, since_checkpoint_;
  std::future<void> writing_;
};

}  // namespace

bool can_stop(const Options& options) {
  return options.text("strategy") == "sync" && options.integer("stages") == 1;
}

TrainOutcome train(Task& task, comm::Communicator& communicator, const TrainJob& job) {
  task.model().train();
  std::optional<Trainer> trainer;
  together(communicator, [&] { trainer.emplace(task, communicator, job); });
  if (communicator.rank() == 0) fmt::print("run: {}\n", job.folder.string());
  fflush(stdout);
  const TrainOutcome outcome = trainer->run();
  if (communicator.rank() == 0) plot_run(job.folder);
  return outcome;
}

void load_weights(torch::nn::Module& model, const std::filesystem::path& folder,
                  comm::Communicator& communicator, bool channels_last) {
  const CheckpointFolder checkpoints(folder / "checkpoints", 1);
  std::optional<Checkpoint> checkpoint = checkpoints.best();
  if (!checkpoint) checkpoint = checkpoints.newest();
  if (!checkpoint)
    throw IoError("DDL-7-66",
                  fmt::format("{} has no checkpoint. Train it first: tutti train --resume {}",
                              folder.string(), folder.string()));
  FlatParameters parameters(model, communicator,
                            channels_last);  // they were written in the order they lay in
  const bool has_average = checkpoint->arrays.contains("average");
  checkpoint->get(has_average ? "average" : "weights",
                  std::as_writable_bytes(parameters.weights()));
  std::vector<float> buffers(parameters.buffers().size());
  checkpoint->get("buffers", std::as_writable_bytes(std::span(buffers)));
  parameters.set_buffers(buffers);
}

Metrics evaluate_run(Task& task, comm::Communicator& communicator, const TrainJob& job) {
  load_weights(task.model(), job.folder, communicator, job.options.flag("channels_last"));
  task.model().eval();
  const torch::NoGradGuard no_gradients;
  ProgressLine line(communicator.rank() == 0 && isatty(STDOUT_FILENO) == 1);
  task.on_judged = judged_on(line, 0);
  Metrics metrics = task.evaluate(
      communicator, communicator.rank() == 0 ? job.folder / "plots" : std::filesystem::path());
  task.on_judged = {};
  line.clear();
  return metrics;
}

}  // namespace tutti::train
