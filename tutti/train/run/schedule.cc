#include "tutti/train/run/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

std::vector<double> parse_shares(const std::string& text) {
  std::vector<double> shares;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) {
    char* end = nullptr;
    const double share = std::strtod(word.c_str(), &end);
    if (end == word.c_str() || *end != 0 || share < 0 || share > 1)
      throw ConfigError("DDL-1-80", fmt::format("step_at '{}' must be shares from 0 to 1, as in "
                                                "0.3,0.6,0.9.",
                                                text));
    shares.push_back(share);
  }
  std::sort(shares.begin(), shares.end());
  return shares;
}

}  // namespace

double Schedule::rate(std::int64_t step) const {
  const double at = static_cast<double>(step);
  if (at < warmup_steps) return start + (peak - start) * (at + 1) / (warmup_steps + 1);
  const double span = std::max(1.0, total_steps - warmup_steps);
  const double share = std::min(1.0, (at - warmup_steps) / span);
  switch (shape) {
    case Shape::kConstant: return peak;
    case Shape::kPolynomial:
      return peak * (final_share + (1 - final_share) * std::pow(1 - share, power));
    case Shape::kCosine:
      return peak *
             (final_share + (1 - final_share) * (1 + std::cos(std::numbers::pi * share)) / 2);
    case Shape::kStep: {
      double rate = peak;
      for (double fall : falls_at) rate *= at >= fall * total_steps ? fall_factor : 1;
      return rate;
    }
  }
  return peak;
}

Schedule make_schedule(const Options& options, int ranks, std::int64_t total_steps) {
  Schedule schedule;
  const std::string& shape = options.text("schedule");
  if (shape == "polynomial") schedule.shape = Schedule::Shape::kPolynomial;
  if (shape == "cosine") schedule.shape = Schedule::Shape::kCosine;
  if (shape == "step") schedule.shape = Schedule::Shape::kStep;
  const std::string& scaling = options.text("rate_scaling");
  const double base = options.number("learning_rate");
  schedule.peak = base * (scaling == "linear" ? ranks : scaling == "sqrt" ? std::sqrt(ranks) : 1);
  schedule.start = scaling == "none" ? 0 : base;
  schedule.total_steps = static_cast<double>(total_steps);
  schedule.warmup_steps = options.number("warmup") * schedule.total_steps;
  schedule.final_share = options.number("final_rate");
  schedule.power = options.number("power");
  schedule.falls_at = parse_shares(options.text("step_at"));
  schedule.fall_factor = options.number("step_factor");
  return schedule;
}

}  // namespace tutti::train
