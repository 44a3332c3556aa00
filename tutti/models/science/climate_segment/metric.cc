#include "tutti/models/science/climate_segment/metric.h"

namespace tutti::models::climate_segment {

using climate::kClasses;

void Overlap::add(std::span<const std::uint8_t> meant, std::span<const std::uint8_t> found) {
  for (std::size_t i = 0; i < meant.size(); ++i)
    counts_[static_cast<std::size_t>(meant[i] * kClasses + found[i])] += 1;
}

double Overlap::iou(int label) const {
  double all = -count(label, label);
  for (int other = 0; other < kClasses; ++other) all += count(label, other) + count(other, label);
  return all > 0 ? count(label, label) / all : 1;
}

double Overlap::mean_iou() const {
  double sum = 0;
  for (int label = 0; label < kClasses; ++label) sum += iou(label) / kClasses;
  return sum;
}

double Overlap::accuracy() const {
  double right = 0, all = 0;
  for (int i = 0; i < kClasses; ++i) {
    right += count(i, i);
    for (int k = 0; k < kClasses; ++k) all += count(i, k);
  }
  return right / std::max(1.0, all);
}

std::array<float, kClasses> class_weights(Weighting weighting,
                                          const std::array<double, kClasses>& frequencies) {
  std::array<float, kClasses> weights{};
  double sum = 0;
  for (std::size_t i = 0; i < kClasses; ++i) {
    const double share = std::max(frequencies[i], 1e-7);
    const double weight = weighting == Weighting::kInverse       ? 1 / share
                          : weighting == Weighting::kInverseSqrt ? 1 / std::sqrt(share)
                                                                 : 1;
    weights[i] = float(weight);
    sum += weight;
  }
  for (float& weight : weights) weight /= float(sum);
  return weights;
}

}  // namespace tutti::models::climate_segment
