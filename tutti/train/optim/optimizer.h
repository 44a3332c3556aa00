// Update rules on flat memory. All weights of a model lie in one array, tensor after tensor, and so
// do its gradients; a rule works on a range of whole tensors, so that an update can start on the
// gradients that are already reduced.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::train {

struct Segment {  // one tensor
  std::string name;
  std::int64_t begin = 0, count = 0;
  bool decays = true;  // weight decay and layer-wise rates apply: not to biases and norms
};

enum class UpdateRule { kSgd, kAdam, kAdamw, kRmsprop, kLars, kLarc, kLarcScale, kLamb };
// The choices of the option `optimizer`, in the order of the rules.
inline constexpr std::array kOptimizerNames = {"sgd",  "adam", "adamw",      "rmsprop",
                                               "lars", "larc", "larc_scale", "lamb"};

struct UpdateSettings {
  UpdateRule rule = UpdateRule::kSgd;
  double momentum = 0.9, beta2 = 0.999, epsilon = 1e-8, trust_coefficient = 0.002, weight_decay = 0;
  bool nesterov = false;
};
UpdateSettings update_settings(const Options& options);

// Their sum.
double squares(std::span<const float> values);
// What the gradients times `scale` must be multiplied by so that their norm is at most `clip_norm`;
// 1 when that is 0.
float clip_factor(std::span<const float> gradients, double clip_norm, float scale);
float clip_factor(double gradient_squares, double clip_norm, float scale);

class Optimizer {
 public:
  // `segments` ascend and follow each other without gaps.
  Optimizer(UpdateSettings settings, std::vector<Segment> segments);

  // Starts update number `step` (from 1) at this rate. Momentum is kept apart from the rate
  // (v = m v + g, w -= rate v), so that a change of the rate needs no correction.
  void begin(std::int64_t step, double rate);
  // Updates the tensors `first` to `last` (excluded) of `weights` from `gradients`, both the whole
  // arrays. Each tensor must be updated once between two calls of begin. `scale` multiplies the
  // gradient first.
  void update(std::span<float> weights, std::span<const float> gradients, std::size_t first,
              std::size_t last, float scale = 1);
  // Whether the step of an element depends on that element alone, so that a tensor can be cut.
  bool is_elementwise() const;
  // Element-wise rules only: updates as many elements of `weights` (the whole array) from `begin`
  // on as there are gradients.
  void update_slice(std::span<float> weights, std::span<const float> gradients, std::int64_t begin,
                    float scale = 1);

  const std::vector<Segment>& segments() const { return segments_; }
  std::int64_t size() const { return size_; }
  // What must be kept to continue: arrays of size() floats; none, one or two of them.
  std::vector<std::vector<float>>& state() { return state_; }
  const UpdateSettings& settings() const { return settings_; }

 private:
  struct Part {  // elements of one tensor
    std::int64_t begin, count;
    float* w;
    const float* g;
    float scale;
    bool decays;
    float factor = 1;  // of layer-wise rules
  };
  template <typename Use>
  void for_blocks(const Part& part, Use use) const;
  void update_tensor(const Segment& segment, float* w, const float* g, float scale);
  void apply(const Part& part);
  void apply_momentum(const Part& part);
  void apply_rmsprop(const Part& part);
  void apply_adam(const Part& part);

  UpdateSettings settings_;
  std::vector<Segment> segments_;
  std::int64_t size_ = 0;
  std::int64_t step_ = 0;
  double rate_ = 0;
  std::vector<std::vector<float>> state_;
};

}  // namespace tutti::train
