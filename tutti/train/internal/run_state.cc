#include "tutti/train/internal/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tutti/core/log.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/internal/evaluation.h"
#include "tutti/train/optim/finite.h"

// A checkpoint is written in three phases:
//
// 1. All ranks: state that is distributed over ranks is gathered. Shards of the optimizer state are exchanged, the
//    stages of a pipeline exchange weights and state, and rank 0 of the group receives the buffers of all ranks.
// 2. Rank 0 waits for the previous write, checks that the weights are finite and copies everything into a Checkpoint.
// 3. A background thread writes the copy while training continues.
//
// Resuming reads the newest checkpoint on every rank. A rank restores its own buffers if the number of ranks is
// unchanged, otherwise the mean of all. Rows of metrics.csv after the step of the checkpoint are removed, because these
// steps are repeated.
namespace tutti::train {
namespace {

// True if the parts of `all`, `count` bytes each, differ.
bool differ(const std::vector<std::byte>& all, std::size_t count) {
  for (std::size_t at = count; at < all.size(); at += count)
    if (std::memcmp(&all[at], all.data(), count) != 0) return true;
  return false;
}

}  // namespace

RunState::RunState(RunContext& context, comm::Communicator& communicator)
    : context_(context),
      checkpoints_(context.job.folder / "checkpoints",
                   static_cast<int>(context.options.integer("keep_checkpoints"))) {
  if (context.job.resumes) resume(communicator);
  const std::span<float> weights = context.parameters.weights();
  if (context.options.number("ema_decay") > 0 && average_.empty())
    average_.assign(weights.begin(), weights.end());
}

void RunState::resume(comm::Communicator& communicator) {
  std::optional<Checkpoint> checkpoint = checkpoints_.newest();
  if (!checkpoint) {
    if (context_.rank == 0)
      log::info("{} has no checkpoint yet; the run starts from its beginning.",
                context_.job.folder.string());
    return;
  }
  auto bytes = [](auto& values) { return std::as_writable_bytes(std::span(values)); };
  checkpoint->get("weights", std::as_writable_bytes(context_.parameters.weights()));
  read_buffers(*checkpoint);
  std::vector<std::vector<float>>& moments = context_.optimizer.state();
  for (std::size_t i = 0; i < moments.size(); ++i)
    checkpoint->get(fmt::format("optimizer.{}", i), bytes(moments[i]));
  if (context_.options.number("ema_decay") > 0) {
    average_.resize(static_cast<std::size_t>(context_.parameters.size()));
    checkpoint->get("average", bytes(average_));
  }
  if (checkpoint->arrays.contains("pending")) {
    std::vector<float> pending(static_cast<std::size_t>(context_.parameters.size()));
    checkpoint->get("pending", bytes(pending));
    context_.strategy.set_pending(pending);
  }
  if (checkpoint_selection_split(*checkpoint, context_.task, context_.options) ==
      selection_split(context_.task))
    best_ = std::strtod(checkpoint->texts["best"].c_str(), nullptr);
  else if (context_.rank == 0)
    log::info(
        "The best weights so far were selected on other samples; the selection starts again.");
  read_position(*checkpoint);
  if (context_.rank == 0) {
    runs::cut_metrics(context_.job.folder, start_.step + 1);
    log::info("resumed at step {}", start_.step);
  }
  communicator.barrier({.name = "resumed"});
}

void RunState::read_buffers(const Checkpoint& checkpoint) {
  if (checkpoint.version() < 3) {
    std::vector<float> mine(static_cast<std::size_t>(context_.parameters.buffer_values()));
    get_buffers(checkpoint, std::as_writable_bytes(std::span(mine)));
    context_.parameters.set_f32_buffers(mine);
    return;
  }
  std::vector<std::byte> mine(context_.parameters.buffers().size());
  get_buffers(checkpoint, mine);
  context_.parameters.set_buffers(mine);
}

void RunState::get_buffers(const Checkpoint& checkpoint, std::span<std::byte> mine) {
  checkpoint.get("buffers", mine);
  const auto all = checkpoint.arrays.find("buffers.ranks");
  if (all == checkpoint.arrays.end() || !context_.strategy.trains()) return;
  const comm::Communicator& group = context_.strategy.group();
  if (all->second.size() == mine.size() * static_cast<std::size_t>(group.size()))
    std::copy_n(all->second.begin() + std::ssize(mine) * group.rank(), mine.size(), mine.begin());
}

std::vector<std::byte> RunState::all_buffers() {
  std::vector<std::byte> mine = context_.parameters.buffers();
  comm::Communicator& group = context_.strategy.group();
  if (mine.empty() || group.size() == 1) return mine;
  std::vector<std::byte> all(
      group.rank() == 0 ? mine.size() * static_cast<std::size_t>(group.size()) : 0);
  group.gather({mine.data(), std::ssize(mine), DType::kU8},
               {all.data(), std::ssize(all), DType::kU8}, 0, {}, {.name = "buffers"});
  return all;
}

void RunState::read_position(const Checkpoint& checkpoint) {
  start_.step = written_step_ = checkpoint.step;
  knows_position_ = checkpoint.texts.contains("epoch_samples");
  if (!knows_position_) return;
  auto number = [&](const char* name) {
    const auto found = checkpoint.texts.find(name);
    return found == checkpoint.texts.end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 10);
  };
  start_.samples = number("samples");
  start_.position = {number("epoch"), number("epoch_samples")};
}

void RunState::update_average() {
  if (average_.empty()) return;
  const auto decay = static_cast<float>(context_.options.number("ema_decay"));
  const std::span<float> weights = context_.parameters.weights();
  for (std::size_t i = 0; i < average_.size(); ++i)
    average_[i] = decay * average_[i] + (1 - decay) * weights[i];
}

void RunState::agree_on_average(comm::Communicator& workers) {
  if (!average_.empty())
    workers.all_reduce(Buffer::of(std::span(average_)), ReduceOp::kAverage, {.name = "average"});
}

// Rank 0 checks the clock; the others get the result in the step.
bool RunState::is_checkpoint_late() const {
  const double seconds = context_.options.number("checkpoint_seconds");
  return context_.rank == 0 && context_.options.integer("checkpoint_steps") == 0 && seconds > 0 &&
         since_written_.seconds() > seconds;
}

bool RunState::is_checkpoint_step(std::int64_t step) const {
  const std::int64_t every = context_.options.integer("checkpoint_steps");
  return every > 0 && step / every != written_step_ / every;
}

void RunState::write(const TrainingPosition& now) {
  since_written_.restart();
  written_step_ = now.step;
  gather();
  const std::vector<std::byte> buffers = all_buffers();
  if (context_.rank != 0) return;
  finish();
  if (!all_finite(context_.parameters.weights())) {
    log::warning(
        "DDL-9-66 Step {}: weights are not finite. No checkpoint is written; the earlier ones "
        "stay.",
        now.step);
    return;
  }
  writing_ = std::async(std::launch::async, [this, checkpoint = snapshot(now, buffers)] {
    checkpoints_.write(checkpoint);
  });
}

void RunState::finish() {
  if (writing_.valid()) writing_.get();
}

void RunState::gather() {
  context_.updates.share_moments();
  Pipeline* const pipeline = context_.pipeline.get();
  if (!pipeline) return;
  const std::vector<Segment>& segments = context_.parameters.segments();
  pipeline->share_buffers();
  pipeline->share(context_.parameters.weights(), segments);
  if (!average_.empty()) pipeline->share(average_, segments);
  for (std::vector<float>& values : context_.optimizer.state()) pipeline->share(values, segments);
}

bool RunState::is_best(const Metrics& metrics) const {
  return metrics.empty() || metrics[0].second >= best_;
}

void RunState::keep_best(const TrainingPosition& now, const Metrics& metrics) {
  best_ = metrics.empty() ? 0 : metrics[0].second;
  checkpoints_.write_best(weights_of(now));
}

Checkpoint RunState::weights_of(const TrainingPosition& now) {
  Checkpoint checkpoint;
  checkpoint.step = now.step;
  checkpoint.texts["case"] = context_.job.case_name;
  checkpoint.texts["chosen_by"] = text_of(selection_split(context_.task));
  checkpoint.texts["best"] = fmt::format("{}", best_);
  checkpoint.texts["samples"] = std::to_string(now.samples);
  checkpoint.texts["epoch"] = std::to_string(now.position.epoch);
  checkpoint.texts["epoch_samples"] = std::to_string(now.position.samples);
  checkpoint.put<float>("weights", context_.parameters.weights());
  checkpoint.put<std::byte>("buffers", context_.parameters.buffers());
  if (!average_.empty()) checkpoint.put<float>("average", average_);
  return checkpoint;
}

// Each rank has its own running statistics of batch norm. Their mean is the best estimate; resuming bit for bit needs
// those of each rank.
Checkpoint RunState::snapshot(const TrainingPosition& now,
                              const std::vector<std::byte>& all_buffers) {
  Checkpoint checkpoint = weights_of(now);
  if (differ(all_buffers, checkpoint.arrays.at("buffers").size())) {
    checkpoint.put<std::byte>("buffers", context_.parameters.mean_of_buffers(all_buffers));
    checkpoint.put<std::byte>("buffers.ranks", all_buffers);
  }
  const std::vector<std::vector<float>>& moments = context_.optimizer.state();
  for (std::size_t i = 0; i < moments.size(); ++i)
    checkpoint.put<float>(fmt::format("optimizer.{}", i), moments[i]);
  const std::span<const float> pending = context_.strategy.pending();
  if (!pending.empty()) checkpoint.put<float>("pending", pending);
  return checkpoint;
}

RunState::Averaged::Averaged(RunState& state) : weights_(state.context_.parameters.weights()) {
  if (state.average_.empty()) return;
  saved_.assign(weights_.begin(), weights_.end());
  std::copy(state.average_.begin(), state.average_.end(), weights_.begin());
}

RunState::Averaged::~Averaged() {
  std::copy(saved_.begin(), saved_.end(), weights_.begin());
}

}  // namespace tutti::train
