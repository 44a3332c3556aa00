#include "tutti/train/run/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/clock.h"

namespace tutti::train {
namespace {

constexpr std::int64_t kTerminalNs = 200'000'000, kLineNs = 10'000'000'000;

}  // namespace

std::string duration_text(double seconds) {
  constexpr double kDay = 86400;
  if (seconds >= 730 * kDay) return fmt::format("{:.1f} years", seconds / (365.25 * kDay));
  if (seconds >= 3 * kDay) return fmt::format("{:.0f} days", seconds / kDay);
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string progress_text(const ProgressState& state) {
  std::string text = fmt::format("epoch {:.2f}/{:.4g}  step {}/{}  loss {:.4f}  {:.4g} samples/s",
                                 state.epoch, state.epochs, state.step, state.total_steps,
                                 state.loss, state.samples_per_second);
  if (state.flops_per_second > 0) {
    text += fmt::format("  {:.{}f} GFLOP/s", state.flops_per_second * 1e-9,
                        state.flops_per_second < 10e9 ? 1 : 0);
    const double share = state.peak_flops > 0 ? state.flops_per_second / state.peak_flops : 0;
    // Operations are counted as for plain convolutions; Winograd's algorithm needs fewer.
    if (share > 1)
      text += fmt::format(" ({:.1f} times a matrix product)", share);
    else if (share >= 0.005)
      text += fmt::format(" ({:.0f} % of peak)", 100 * share);
  }
  text += fmt::format("  comm {:.1f} %  {} left", 100 * state.exposed_share,
                      duration_text(state.seconds_left));
  return text;
}

std::string evaluation_text(const std::string& of, const Metrics& metrics, bool is_best) {
  constexpr std::size_t kMostShown = 4;  // validation.csv has all
  std::string text = of + ":";
  for (std::size_t i = 0; i < std::min(kMostShown, metrics.size()); ++i)
    text += fmt::format("  {} {:.4g}", metrics[i].first, metrics[i].second);
  return is_best ? text + "  (best so far)" : text;
}

std::string evaluation_progress_text(const std::string& of, std::int64_t done, std::int64_t all,
                                     double seconds) {
  const double each = seconds / double(std::max<std::int64_t>(1, done));
  return fmt::format("{}:  {} of {} samples evaluated, {} left", of, done, all,
                     duration_text(each * double(all - done)));
}

std::string plan_text(const RunPlan& plan) {
  constexpr double kLong = 86400;
  const double giga = plan.flops_per_sample * 1e-9;
  std::string text =
      fmt::format("{} parameters, {:.{}f} GFLOP for a sample; {} samples, {} step{} of {:.0f}\n",
                  plan.parameters, giga,
                  giga < 1     ? 4
                  : giga < 100 ? 1
                               : 0,
                  plan.samples, plan.steps, plan.steps == 1 ? "" : "s", plan.step_samples);
  const double step = plan.flops_per_sample * plan.step_samples / std::max(1.0, plan.speed),
               all = step * double(plan.steps);
  if (plan.speed > 0 && all > kLong)
    text += fmt::format(
        "At the speed of large matrix products, {:.0f} GFLOP/s, this takes {}, a step {:.3g} s. "
        "Lower `epochs` or `steps` to shorten it; Ctrl-C stops it with a checkpoint.\n",
        plan.speed * 1e-9, duration_text(all), step);
  return text;
}

ProgressLine::ProgressLine(bool is_shown) : is_shown_(is_shown), is_terminal_(isatty(1) == 1) {}

void ProgressLine::show(const std::string& text) {
  last_ = text;
  if (!is_shown_ || now_ns() < next_ns_) return;
  next_ns_ = now_ns() + (is_terminal_ ? kTerminalNs : kLineNs);
  fmt::print("{}{}{}", is_terminal_ ? "\r\033[K" : "", text, is_terminal_ ? "" : "\n");
  fflush(stdout);
  is_open_ = is_terminal_;
}

void ProgressLine::finish() {
  if (!is_open_) return;
  fmt::print("\r\033[K{}\n", last_);
  fflush(stdout);
  is_open_ = false;
}

void ProgressLine::clear() {
  if (!is_open_) return;
  fmt::print("\r\033[K");
  fflush(stdout);
  is_open_ = false;
}

}  // namespace tutti::train
