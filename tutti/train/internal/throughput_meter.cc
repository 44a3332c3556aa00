#include "tutti/train/internal/throughput_meter.h"

#include "tutti/train/process_setup.h"

namespace tutti::train {
namespace {

constexpr int kWarmUpSteps = 3;

}  // namespace

ThroughputMeter::ThroughputMeter(RunContext& context, const RunLength& length, std::int64_t start)
    : context_(context), length_(length), previous_step_(start - 1) {
  state_.total_steps = length.total_steps;
  state_.epochs = length.epochs();
  state_.peak_flops = peak_flops(context.options) * context.strategy.workers().size();
}

Metrics ThroughputMeter::end_step(std::int64_t step, const StepReport& report) {
  const double seconds = step_watch_.seconds();
  const double waited = std::min(seconds, report.times.waited);
  double loss = 0;
  for (const auto& [name, value] : report.losses) loss += value / double(report.losses.size());
  // Other groups took the steps in between.
  const double samples = length_.step_samples() * double(step - previous_step_);
  previous_step_ = step;
  if (++steps_here_ > kWarmUpSteps) {
    counted_seconds_ += seconds;
    counted_samples_ += samples;
    counted_wait_ += waited;
  }
  const bool counts = counted_seconds_ > 0;
  state_.step = step + 1;
  state_.epoch = length_.epoch(state_.step);
  state_.loss = steps_here_ == 1 ? loss : 0.9 * state_.loss + 0.1 * loss;
  state_.samples_per_second = counts ? counted_samples_ / counted_seconds_ : samples / seconds;
  state_.exposed_share = counts ? counted_wait_ / counted_seconds_ : waited / seconds;
  state_.flops_per_second = state_.samples_per_second * context_.task.flops_per_sample();
  state_.seconds_left = double(length_.total_steps - state_.step) * length_.step_samples() /
                        std::max(1e-9, state_.samples_per_second);
  Metrics row = {{"loss", loss},
                 {"learning_rate", report.rate},
                 {"samples_per_second", samples / seconds},
                 {"waited", waited / seconds},
                 {"staleness", report.times.staleness},
                 {"seconds", watch_.seconds()}};
  if (report.losses.size() > 1) row.insert(row.end(), report.losses.begin(), report.losses.end());
  for (std::size_t i = 0; i < report.losses.size(); ++i)
    if (const std::string& old_name = context_.updates.old_name(i); !old_name.empty())
      row.emplace_back(old_name, report.losses[i].second);
  return row;
}

}  // namespace tutti::train
