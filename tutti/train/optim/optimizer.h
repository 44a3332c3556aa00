// Optimizers on flat memory. All weights of a model are in one array, tensor after tensor, and so are its gradients. An
// update covers a range of whole tensors, so it can start on gradients that are already reduced.
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
  bool decays =
      true;  // false for biases and normalisation parameters: no weight decay, no layer-wise rates
};

enum class UpdateRule { kSgd, kAdam, kAdamw, kRmsprop, kLars, kLarc, kLarcScale, kLamb };
// Choices of the option `optimizer`, in the order of the enumeration.
inline constexpr std::array kOptimizerNames = {"sgd",  "adam", "adamw",      "rmsprop",
                                               "lars", "larc", "larc_scale", "lamb"};

struct UpdateSettings {
  UpdateRule rule = UpdateRule::kSgd;
  double momentum = 0.9, beta2 = 0.999, epsilon = 1e-8, trust_coefficient = 0.002, weight_decay = 0;
  bool nesterov = false;
};
UpdateSettings update_settings(const Options& options);

// Sum of the squares.
double squares(std::span<const float> values);
// Factor for the gradients times `scale` that limits their norm to `clip_norm`; 1 if that is 0.
float clip_factor(std::span<const float> gradients, double clip_norm, float scale);
float clip_factor(double gradient_squares, double clip_norm, float scale);

class Optimizer {
 public:
  // `segments` must be in ascending order without gaps.
  Optimizer(UpdateSettings settings, std::vector<Segment> segments);

  // Starts update number `step` (from 1) at this rate. Momentum does not include the rate (v = m v + g, w -= rate v),
  // so a change of the rate needs no correction.
  void begin(std::int64_t step, double rate);
  // Updates tensors `first` to `last` (excluded) of `weights` from `gradients`, both the whole arrays. Each tensor must
  // be updated once between two calls of begin. The gradient is multiplied by `scale` first.
  void update(std::span<float> weights, std::span<const float> gradients, std::size_t first,
              std::size_t last, float scale = 1);
  // Whether the update of an element depends on that element alone, so that a tensor can be split.
  bool is_elementwise() const;
  // Element-wise optimizers only: updates the elements of `weights` (the whole array) from `begin`, one per gradient.
  void update_slice(std::span<float> weights, std::span<const float> gradients, std::int64_t begin,
                    float scale = 1);

  const std::vector<Segment>& segments() const { return segments_; }
  std::int64_t size() const { return size_; }
  // Optimizer state: none, one or two arrays of size() floats.
  std::vector<std::vector<float>>& state() { return state_; }
  const UpdateSettings& settings() const { return settings_; }

 private:
  struct Part {  // elements of one tensor
    std::int64_t begin, count;
    float* w;
    const float* g;
    float scale;
    bool decays;
    float factor = 1;  // of layer-wise optimizers
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
