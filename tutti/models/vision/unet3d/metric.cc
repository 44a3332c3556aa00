#include "tutti/models/vision/unet3d/metric.h"

#include <algorithm>
#include <cmath>

namespace tutti::models::unet3d {
namespace {

constexpr double kFirst = -3, kStep = 0.05;

std::span<const float> part(std::span<const float> images, int modality) {
  const std::size_t voxels = images.size() / kModalities;
  return images.subspan(static_cast<std::size_t>(modality) * voxels, voxels);
}

struct Standardizer {
  double mean = 0, deviation = 1;
  explicit Standardizer(std::span<const float> values) {
    double sum = 0, squares = 0;
    for (float value : values) {
      sum += value;
      squares += double{value} * value;
    }
    const double count = std::max<double>(1, double(values.size()));
    mean = sum / count;
    deviation = std::sqrt(std::max(1e-12, squares / count - mean * mean));
  }
  double of(float value) const { return (double{value} - mean) / deviation; }
};

}  // namespace

const std::array<const char*, kRegions>& region_names() {
  static const std::array<const char*, kRegions> names = {"whole", "core", "enhancing"};
  return names;
}

bool is_in_region(int region, std::uint8_t label) {
  return label == kEnhancing || (region < 2 && label == kNecrosis) ||
         (region < 1 && label == kOedema);
}

double Overlap::dice() const {
  return truth + found > 0 ? 2 * double(both) / double(truth + found) : 1;
}

Overlap overlap(int region, std::span<const std::uint8_t> truth,
                std::span<const std::uint8_t> found) {
  Overlap result;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const bool is_true = is_in_region(region, truth[i]), is_found = is_in_region(region, found[i]);
    result.both += is_true && is_found;
    result.truth += is_true;
    result.found += is_found;
  }
  return result;
}

Overlap overlap(int region, const Threshold& threshold, std::span<const float> images,
                std::span<const std::uint8_t> truth) {
  const std::span<const float> values = part(images, threshold.modality);
  const Standardizer standardizer(values);
  Overlap result;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const bool is_true = is_in_region(region, truth[i]),
               is_found = standardizer.of(values[i]) >= threshold.value;
    result.both += is_true && is_found;
    result.truth += is_true;
    result.found += is_found;
  }
  return result;
}

void ThresholdSearch::add(std::span<const float> images, std::span<const std::uint8_t> truth) {
  for (int modality = 0; modality < kModalities; ++modality) {
    const std::span<const float> values = part(images, modality);
    const Standardizer standardizer(values);
    std::int64_t all[kBins] = {}, inside[kRegions][kBins] = {};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int bin =
          std::clamp(static_cast<int>((standardizer.of(values[i]) - kFirst) / kStep), 0, kBins - 1);
      ++all[bin];
      for (int region = 0; region < kRegions; ++region)
        inside[region][bin] += is_in_region(region, truth[i]);
    }
    for (int region = 0; region < kRegions; ++region) {
      Overlap above;
      for (std::int64_t count : inside[region]) above.truth += count;
      for (int bin = kBins - 1; bin >= 0; --bin) {
        above.both += inside[region][bin];
        above.found += all[bin];
        sums_[region][modality][bin] += above.dice();
      }
    }
  }
}

Threshold ThresholdSearch::best(int region) const {
  Threshold best;
  double most = -1;
  for (int modality = 0; modality < kModalities; ++modality)
    for (int bin = 0; bin < kBins; ++bin)
      if (const double sum = sums_[region][modality][bin]; sum > most) {
        most = sum;
        best = {modality, kFirst + kStep * bin};
      }
  return best;
}

}  // namespace tutti::models::unet3d
