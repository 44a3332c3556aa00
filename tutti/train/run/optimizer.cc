#include "tutti/train/run/optimizer.h"

#include <algorithm>
#include <cmath>

namespace tutti::train {
namespace {

double norm(const float* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += double{values[i]} * values[i];
  return std::sqrt(sum);
}

// By how much the layer-wise rules change the step of a tensor whose weights and gradient have
// these norms. LARS: the step is proportional to the norm of the weights. LARC caps that at the
// step which the global rate would make (`clips against the rate`); `larc_scale` caps the factor on
// the gradient itself at 1, and takes 1/16000 where a norm is zero.
double layer_factor(const UpdateSettings& settings, double rate, double weights, double gradient) {
  const double local = settings.trust * weights / std::max(gradient, 1e-30);
  const bool is_degenerate = weights <= 0 || gradient <= 0;
  if (settings.rule == "lars") return is_degenerate ? 1 : local;
  if (settings.rule == "larc_scale") return is_degenerate ? 1.0 / 16000 : std::min(local, 1.0);
  if (settings.rule == "larc") return is_degenerate ? 1 : std::min(local, rate) / rate;
  return 1;
}

std::size_t arrays_of(const std::string& rule) {
  if (rule == "rmsprop") return 1;
  if (rule == "adam" || rule == "adamw" || rule == "lamb" || rule.starts_with("larc")) return 2;
  return 1;
}

}  // namespace

UpdateSettings update_settings(const Options& options) {
  return {options.text("optimizer"), options.number("momentum"), options.number("beta2"),
          options.number("epsilon"), options.number("trust"),    options.number("weight_decay"),
          options.flag("nesterov")};
}

float clip_factor(std::span<const float> gradients, double clip_norm, float scale) {
  if (clip_norm <= 0) return 1;
  double squares = 0;
  for (float g : gradients) squares += double{g} * g;
  const double norm = std::sqrt(squares) * scale;
  return norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.f;
}

Optimizer::Optimizer(UpdateSettings settings, std::vector<Segment> segments)
    : settings_(std::move(settings)), segments_(std::move(segments)) {
  for (const Segment& segment : segments_) size_ += segment.count;
  state_.assign(arrays_of(settings_.rule), std::vector<float>(static_cast<std::size_t>(size_)));
}

void Optimizer::begin(std::int64_t step, double rate) {
  step_ = step;
  rate_ = rate;
}

void Optimizer::update(std::span<float> weights, std::span<const float> gradients,
                       std::size_t first, std::size_t last, float scale) {
  for (std::size_t i = first; i < last; ++i)
    update_tensor(segments_[i], weights.data() + segments_[i].begin,
                  gradients.data() + segments_[i].begin, scale);
}

// Adam, AdamW, LAMB and LARC (which is Adam on a gradient of limited size) share their moments;
// SGD and LARS share the momentum.
void Optimizer::update_tensor(const Segment& segment, float* w, const float* g, float scale) {
  const std::int64_t n = segment.count;
  const std::string& rule = settings_.rule;
  const bool decoupled = rule == "adamw" || rule == "lamb";
  const float decay = segment.decays ? static_cast<float>(settings_.weight_decay) : 0;
  const float coupled = decoupled ? 0 : decay;
  scratch_.resize(static_cast<std::size_t>(n));
  float* gradient = scratch_.data();
  for (std::int64_t i = 0; i < n; ++i) gradient[i] = g[i] * scale + coupled * w[i];
  const bool is_layer_wise = segment.decays && (rule == "lars" || rule.starts_with("larc"));
  if (is_layer_wise) {
    const auto factor =
        static_cast<float>(layer_factor(settings_, rate_, norm(w, n), norm(gradient, n)));
    for (std::int64_t i = 0; i < n; ++i) gradient[i] *= factor;
  }
  float* first = state_[0].data() + segment.begin;
  const auto rate = static_cast<float>(rate_);
  const auto momentum = static_cast<float>(settings_.momentum);
  const auto beta2 = static_cast<float>(settings_.beta2);
  const auto epsilon = static_cast<float>(settings_.epsilon);
  if (rule == "sgd" || rule == "lars") {
    for (std::int64_t i = 0; i < n; ++i) {
      first[i] = momentum * first[i] + gradient[i];
      w[i] -= rate * (settings_.nesterov ? gradient[i] + momentum * first[i] : first[i]);
    }
    return;
  }
  if (rule == "rmsprop") {
    for (std::int64_t i = 0; i < n; ++i) {
      first[i] = beta2 * first[i] + (1 - beta2) * gradient[i] * gradient[i];
      w[i] -= rate * gradient[i] / (std::sqrt(first[i]) + epsilon);
    }
    return;
  }
  float* second = state_[1].data() + segment.begin;
  const double steps = static_cast<double>(step_);
  const auto unbias1 = static_cast<float>(1 / (1 - std::pow(settings_.momentum, steps)));
  const auto unbias2 = static_cast<float>(1 / (1 - std::pow(settings_.beta2, steps)));
  for (std::int64_t i = 0; i < n; ++i) {
    first[i] = momentum * first[i] + (1 - momentum) * gradient[i];
    second[i] = beta2 * second[i] + (1 - beta2) * gradient[i] * gradient[i];
    gradient[i] = first[i] * unbias1 / (std::sqrt(second[i] * unbias2) + epsilon);
  }
  if (decoupled)
    for (std::int64_t i = 0; i < n; ++i) gradient[i] += decay * w[i];
  float step = rate;
  if (rule == "lamb" && segment.decays) {
    const double weight_norm = norm(w, n), update_norm = norm(gradient, n);
    if (weight_norm > 0 && update_norm > 0) step *= static_cast<float>(weight_norm / update_norm);
  }
  for (std::int64_t i = 0; i < n; ++i) w[i] -= step * gradient[i];
}

}  // namespace tutti::train
