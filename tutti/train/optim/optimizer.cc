#include "tutti/train/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tutti::train {
namespace {

using enum UpdateRule;

bool is_larc(UpdateRule rule) {
  return rule == kLarc || rule == kLarcScale;
}

// Decoupled weight decay: not part of the gradient.
bool decays_apart(UpdateRule rule) {
  return rule == kAdamw || rule == kLamb;
}

// Factor of the layer-wise optimizers for the step of a tensor, given the norms of its weights and gradient. LARS: the
// step is proportional to the norm of the weights. LARC limits that to the step of the global rate (clipping).
// `larc_scale` limits the factor of the gradient to 1, and uses 1/16000 if a norm is zero.
double layer_factor(const UpdateSettings& settings, double rate, double weights, double gradient) {
  const double local = settings.trust_coefficient * weights / std::max(gradient, 1e-30);
  const bool is_degenerate = weights <= 0 || gradient <= 0;
  if (settings.rule == kLars) return is_degenerate ? 1 : local;
  if (settings.rule == kLarcScale) return is_degenerate ? 1.0 / 16000 : std::min(local, 1.0);
  if (settings.rule == kLarc) return is_degenerate ? 1 : std::min(local, rate) / rate;
  return 1;
}

std::size_t arrays_of(UpdateRule rule) {
  return rule == kSgd || rule == kLars || rule == kRmsprop ? 1 : 2;
}

}  // namespace

UpdateSettings update_settings(const Options& options) {
  return {options.choice<UpdateRule>("optimizer"),
          options.number("momentum"),
          options.number("beta2"),
          options.number("epsilon"),
          options.number("trust_coefficient"),
          options.number("weight_decay"),
          options.flag("nesterov")};
}

double squares(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return sum;
}

float clip_factor(std::span<const float> gradients, double clip_norm, float scale) {
  return clip_norm <= 0 ? 1 : clip_factor(squares(gradients), clip_norm, scale);
}

float clip_factor(double gradient_squares, double clip_norm, float scale) {
  const double norm = std::sqrt(gradient_squares) * scale;
  return norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.f;
}

Optimizer::Optimizer(UpdateSettings settings, std::vector<Segment> segments)
    : settings_(settings), segments_(std::move(segments)) {
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

bool Optimizer::is_elementwise() const {
  const UpdateRule rule = settings_.rule;
  return rule == kSgd || rule == kAdam || rule == kAdamw || rule == kRmsprop;
}

void Optimizer::update_slice(std::span<float> weights, std::span<const float> gradients,
                             std::int64_t begin, float scale) {
  const std::int64_t end = begin + static_cast<std::int64_t>(gradients.size());
  auto segment = std::ranges::upper_bound(segments_, begin, {}, &Segment::begin);
  if (segment != segments_.begin()) --segment;
  for (; segment != segments_.end() && segment->begin < end; ++segment) {
    const std::int64_t from = std::max(begin, segment->begin);
    const std::int64_t to = std::min(end, segment->begin + segment->count);
    if (from < to)
      apply({from, to - from, weights.data() + from, gradients.data() + (from - begin), scale,
             segment->decays});
  }
}

void Optimizer::update_tensor(const Segment& segment, float* w, const float* g, float scale) {
  Part part{segment.begin, segment.count, w, g, scale, segment.decays};
  if (segment.decays && (settings_.rule == kLars || is_larc(settings_.rule))) {
    double gradient_squares = 0;
    for_blocks(part, [&](const float* gradient, std::int64_t, std::int64_t n) {
      gradient_squares += squares({gradient, static_cast<std::size_t>(n)});
    });
    part.factor = static_cast<float>(layer_factor(
        settings_, rate_, std::sqrt(squares({w, static_cast<std::size_t>(part.count)})),
        std::sqrt(gradient_squares)));
  }
  apply(part);
}

// Calls use(gradient, at, n) for blocks of elements that fit into the cache, with the gradient, including weight decay,
// of elements `at` to `at + n` of `part`.
template <typename Use>
void Optimizer::for_blocks(const Part& part, Use use) const {
  const bool is_mixed_in = part.decays && !decays_apart(settings_.rule);
  const float decay = is_mixed_in ? static_cast<float>(settings_.weight_decay) : 0;
  std::array<float, 1024> block;
  for (std::int64_t at = 0; at < part.count; at += std::ssize(block)) {
    const std::int64_t n = std::min(std::ssize(block), part.count - at);
    for (std::int64_t i = 0; i < n; ++i)
      block[i] = (part.g[at + i] * part.scale + decay * part.w[at + i]) * part.factor;
    use(block.data(), at, n);
  }
}

// SGD and LARS share the momentum; all others except RMSprop are Adam: LARC with a gradient of limited size, LAMB with
// steps whose length follows the norm of the weights.
void Optimizer::apply(const Part& part) {
  if (settings_.rule == kSgd || settings_.rule == kLars)
    apply_momentum(part);
  else if (settings_.rule == kRmsprop)
    apply_rmsprop(part);
  else
    apply_adam(part);
}

void Optimizer::apply_momentum(const Part& part) {
  const auto rate = static_cast<float>(rate_);
  const auto momentum = static_cast<float>(settings_.momentum);
  for_blocks(part, [&](const float* gradient, std::int64_t at, std::int64_t n) {
    float* velocity = state_[0].data() + part.begin + at;
    float* w = part.w + at;
    for (std::int64_t i = 0; i < n; ++i) {
      velocity[i] = momentum * velocity[i] + gradient[i];
      w[i] -= rate * (settings_.nesterov ? gradient[i] + momentum * velocity[i] : velocity[i]);
    }
  });
}

void Optimizer::apply_rmsprop(const Part& part) {
  const auto rate = static_cast<float>(rate_);
  const auto beta2 = static_cast<float>(settings_.beta2);
  const auto epsilon = static_cast<float>(settings_.epsilon);
  for_blocks(part, [&](const float* gradient, std::int64_t at, std::int64_t n) {
    float* mean_square = state_[0].data() + part.begin + at;
    float* w = part.w + at;
    for (std::int64_t i = 0; i < n; ++i) {
      mean_square[i] = beta2 * mean_square[i] + (1 - beta2) * gradient[i] * gradient[i];
      w[i] -= rate * gradient[i] / (std::sqrt(mean_square[i]) + epsilon);
    }
  });
}

void Optimizer::apply_adam(const Part& part) {
  const auto beta1 = static_cast<float>(settings_.momentum);
  const auto beta2 = static_cast<float>(settings_.beta2);
  const auto epsilon = static_cast<float>(settings_.epsilon);
  const double steps = static_cast<double>(step_);
  const auto unbias1 = static_cast<float>(1 / (1 - std::pow(settings_.momentum, steps)));
  const auto unbias2 = static_cast<float>(1 / (1 - std::pow(settings_.beta2, steps)));
  const bool is_apart = part.decays && decays_apart(settings_.rule);
  const float decay = is_apart ? static_cast<float>(settings_.weight_decay) : 0;
  const bool is_lamb = settings_.rule == kLamb && part.decays;
  float* first = state_[0].data() + part.begin;
  float* second = state_[1].data() + part.begin;
  auto direction = [&](std::int64_t i) {
    return first[i] * unbias1 / (std::sqrt(second[i] * unbias2) + epsilon) + decay * part.w[i];
  };
  const auto rate = static_cast<float>(rate_);
  double weight_squares = 0, update_squares = 0;
  for_blocks(part, [&](const float* gradient, std::int64_t at, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      first[at + i] = beta1 * first[at + i] + (1 - beta1) * gradient[i];
      second[at + i] = beta2 * second[at + i] + (1 - beta2) * gradient[i] * gradient[i];
    }
    if (!is_lamb) {
      for (std::int64_t i = at; i < at + n; ++i) part.w[i] -= rate * direction(i);
      return;
    }
    weight_squares += squares({part.w + at, static_cast<std::size_t>(n)});
    for (std::int64_t i = at; i < at + n; ++i)
      update_squares += double{direction(i)} * direction(i);
  });
  if (!is_lamb) return;
  const bool is_degenerate = weight_squares <= 0 || update_squares <= 0;
  const float step =
      is_degenerate ? rate : rate * static_cast<float>(std::sqrt(weight_squares / update_squares));
  for (std::int64_t i = 0; i < part.count; ++i) part.w[i] -= step * direction(i);
}

}  // namespace tutti::train
