#include "tutti/train/optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

std::vector<double> parse_fractions(const std::string& option, const std::string& text) {
  std::vector<double> shares;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) {
    char* end = nullptr;
    const double share = std::strtod(word.c_str(), &end);
    if (end == word.c_str() || *end != 0 || share < 0 || share > 1)
      throw ConfigError(
          "DDL-1-80",
          fmt::format("{} '{}' must be fractions from 0 to 1, as in 0.3,0.6,0.9.", option, text));
    shares.push_back(share);
  }
  return shares;
}

enum class LrScaling { kNone, kLinear, kSqrt };

// One factor per milestone, or one for all of them.
std::vector<Schedule::Fall> parse_falls(const Options& options) {
  const std::vector<double> at = parse_fractions("lr_milestones", options.text("lr_milestones")),
                            factors = parse_fractions("lr_gamma", options.text("lr_gamma"));
  if (factors.size() != 1 && factors.size() != at.size())
    throw ConfigError("DDL-1-80",
                      fmt::format("lr_gamma '{}' must have one number, or as many as "
                                  "lr_milestones '{}'.",
                                  options.text("lr_gamma"), options.text("lr_milestones")));
  std::vector<Schedule::Fall> falls;
  for (std::size_t i = 0; i < at.size(); ++i)
    falls.push_back({at[i], factors.size() == 1 ? factors[0] : factors[i]});
  return falls;
}

// Ratio of the global batch size to that of `learning_rate`.
double batch_ratio(const Options& options, int ranks) {
  const double base = options.number("base_batch");
  if (base == 0) return ranks;
  return options.number("batch") * options.number("accumulate") * ranks / base;
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
      for (const Fall& fall : falls) rate *= at >= fall.at * total_steps ? fall.factor : 1;
      return rate;
    }
  }
  return peak;
}

Schedule make_schedule(const Options& options, int ranks, std::int64_t total_steps) {
  Schedule schedule;
  schedule.shape = options.choice<Schedule::Shape>("schedule");
  const auto scaling = options.choice<LrScaling>("lr_scaling");
  const double base = options.number("learning_rate");
  const double ratio = batch_ratio(options, ranks);
  schedule.peak = base * (scaling == LrScaling::kLinear ? ratio
                          : scaling == LrScaling::kSqrt ? std::sqrt(ratio)
                                                        : 1);
  schedule.start = scaling == LrScaling::kNone ? 0 : base;
  schedule.total_steps = static_cast<double>(total_steps);
  schedule.warmup_steps = options.number("warmup") * schedule.total_steps;
  schedule.final_share = options.number("final_lr_ratio");
  schedule.power = options.number("power");
  schedule.falls = parse_falls(options);
  return schedule;
}

}  // namespace tutti::train
