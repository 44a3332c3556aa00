// Every optimizer compared with its definition, in f64: sums over all gradients so far instead of recurrences.
#include <gtest/gtest.h>

#include <cmath>

#include "tutti/train/optim/optimizer.h"

namespace tutti::train {
namespace {

using Tensor = std::vector<double>;

constexpr double kMomentum = 0.8, kBeta2 = 0.95, kEpsilon = 1e-3, kTrust = 0.9, kDecay = 0.1;
constexpr float kScale = 0.5f;
constexpr int kSteps = 6;

double norm(const Tensor& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return std::sqrt(sum);
}

double rate_of(int step) {
  return 0.02 + 0.01 * step;
}  // all different

// One tensor by the definition of an optimizer. `weights` are those before the step; the gradients of all steps are
// stored.
class Definition {
 public:
  Definition(std::string rule, bool has_layer_rate, bool is_nesterov)
      : rule_(std::move(rule)), has_layer_rate_(has_layer_rate), is_nesterov_(is_nesterov) {}

  Tensor step(const Tensor& weights, Tensor gradient, double rate) {
    const bool is_decoupled = rule_ == "adamw" || rule_ == "lamb";
    const double decay = has_layer_rate_ ? kDecay : 0;  // both exclude the same tensors
    if (!is_decoupled)
      for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += decay * weights[i];
    const double factor = layer_factor(norm(weights), norm(gradient), rate);
    for (double& value : gradient) value *= factor;
    taken_.push_back(gradient);
    Tensor direction(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      direction[i] = direction_of(i) + (is_decoupled ? decay * weights[i] : 0);
    double length = rate;
    if (rule_ == "lamb" && has_layer_rate_ && norm(weights) > 0 && norm(direction) > 0)
      length *= norm(weights) / norm(direction);
    Tensor after = weights;
    for (std::size_t i = 0; i < after.size(); ++i) after[i] -= length * direction[i];
    return after;
  }

 private:
  // As in the climate code (larc), CosmoFlow (larc_scale) and LARS.
  double layer_factor(double weights, double gradient, double rate) const {
    if (!has_layer_rate_) return 1;
    const bool has_norms = weights > 0 && gradient > 0;
    const double local = has_norms ? kTrust * weights / gradient : 0;
    if (rule_ == "lars") return has_norms ? local : 1;
    if (rule_ == "larc") return has_norms ? std::min(local, rate) / rate : 1;
    if (rule_ == "larc_scale") return has_norms ? std::min(local, 1.0) : 1 / 16000.0;
    return 1;
  }

  // sum over the steps of share^age times g^power.
  double sum(std::size_t i, double share, int power) const {
    double total = 0;
    for (std::size_t k = 0; k < taken_.size(); ++k)
      total += std::pow(share, double(taken_.size() - 1 - k)) * std::pow(taken_[k][i], power);
    return total;
  }
  // The sum of share^age, the divisor of the mean.
  double all(double share) const {
    return (1 - std::pow(share, double(taken_.size()))) / (1 - share);
  }

  double direction_of(std::size_t i) const {
    if (rule_ == "sgd" || rule_ == "lars") {
      const double velocity = sum(i, kMomentum, 1);
      return is_nesterov_ ? taken_.back()[i] + kMomentum * velocity : velocity;
    }
    if (rule_ == "rmsprop")
      return taken_.back()[i] / (std::sqrt((1 - kBeta2) * sum(i, kBeta2, 2)) + kEpsilon);
    return sum(i, kMomentum, 1) / all(kMomentum) /
           (std::sqrt(sum(i, kBeta2, 2) / all(kBeta2)) + kEpsilon);
  }

  const std::string rule_;
  const bool has_layer_rate_, is_nesterov_;
  std::vector<Tensor> taken_;
};

struct Trial {
  const char* name;
  UpdateRule rule;
  bool is_nesterov = false;
};

class RuleValues : public testing::TestWithParam<Trial> {};

// Four tensors: gradients that LARC clips, gradients it does not clip, weights that are all zero at first (zero norm),
// and a bias, which has no weight decay and no layer-wise rate.
TEST_P(RuleValues, AreThoseOfTheDefinition) {
  const std::vector<Segment> segments = {
      {"steep", 0, 3}, {"flat", 3, 2}, {"zero", 5, 2}, {"bias", 7, 2, false}};
  std::vector<float> weights = {0.3f, -0.5f, 0.2f, 4, -3, 0, 0, 0.5f, -0.25f};
  const float size_of[] = {60, 60, 60, 0.02f, 0.02f, 2, 2, 2, 2};  // of the gradients
  UpdateSettings settings{GetParam().rule, kMomentum, kBeta2, kEpsilon, kTrust, kDecay};
  settings.nesterov = GetParam().is_nesterov;
  Optimizer optimizer(settings, segments);
  std::vector<Definition> definitions;
  std::vector<Tensor> expected;
  for (const Segment& segment : segments) {
    definitions.emplace_back(kOptimizerNames[std::size_t(settings.rule)], segment.decays,
                             settings.nesterov);
    expected.emplace_back(weights.begin() + segment.begin,
                          weights.begin() + segment.begin + segment.count);
  }
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<float> gradients(weights.size());
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i] = size_of[i] * std::sin(float(3 * step + 2 * int(i)));
    optimizer.begin(step, rate_of(step));
    optimizer.update(weights, gradients, 0, segments.size(), kScale);
    for (std::size_t t = 0; t < segments.size(); ++t) {
      const auto first = gradients.begin() + segments[t].begin;
      Tensor gradient(first, first + segments[t].count);
      for (double& value : gradient) value *= kScale;
      expected[t] = definitions[t].step(expected[t], gradient, rate_of(step));
      for (std::size_t i = 0; i < expected[t].size(); ++i)
        EXPECT_NEAR(weights[static_cast<std::size_t>(segments[t].begin) + i], expected[t][i],
                    2e-5 * (1 + std::abs(expected[t][i])))
            << segments[t].name << " " << i << " step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RuleValues,
    testing::Values(Trial{"sgd", UpdateRule::kSgd}, Trial{"nesterov", UpdateRule::kSgd, true},
                    Trial{"adam", UpdateRule::kAdam}, Trial{"adamw", UpdateRule::kAdamw},
                    Trial{"rmsprop", UpdateRule::kRmsprop}, Trial{"lars", UpdateRule::kLars},
                    Trial{"larc", UpdateRule::kLarc}, Trial{"larc_scale", UpdateRule::kLarcScale},
                    Trial{"lamb", UpdateRule::kLamb}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace tutti::train
