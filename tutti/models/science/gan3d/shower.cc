#include "tutti/models/science/gan3d/shower.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tutti::models::gan3d {
namespace {

constexpr double kZ = 74, kActiveZ = 14;  // tungsten, silicon
constexpr double kCritical = 0.008;       // GeV, of tungsten
// X0 of the stack over the layer pitch, and the e/mip ratio: the signal of an electron relative to that of a muon,
// reduced because the tungsten absorbs photons.
constexpr double kFrequency = 1 / kLayerDepth;
const double kRatio = 1 / (1 + 0.007 * (kZ - kActiveZ));

struct Fluctuations {
  double of_maximum, of_a, correlation;  // of the logarithms
};
Fluctuations fluctuations_of(double energy) {
  const double ln_y = std::log(energy / kCritical);
  return {1 / (-2.5 + 1.25 * ln_y), 1 / (-0.82 + 0.79 * ln_y), 0.784 - 0.023 * ln_y};
}

// Regularised lower incomplete gamma function: its series, or the continued fraction of the rest.
double lower_gamma(double a, double x) {
  if (x <= 0) return 0;
  const double factor = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > 1e-12 * sum; ++n) sum += term *= x / n;
    return factor * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 200; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= c * d;
    if (std::abs(c * d - 1) < 1e-12) break;
  }
  return 1 - factor * h;
}

// Marsaglia and Tsang: the cube of a shifted normal number, with rejection.
double draw_gamma(double shape, Random& random) {
  if (shape <= 0) return 0;
  if (shape < 1) return draw_gamma(shape + 1, random) * std::pow(1 - random.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.gaussian(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < 0.5 * x * x + d * (1 - v + std::log(v)))
      return d * v;
  }
}

std::int64_t draw_poisson(double mean, Random& random) {
  if (mean > 50)
    return std::max<std::int64_t>(0, std::llround(mean + std::sqrt(mean) * random.gaussian()));
  const double limit = std::exp(-mean);
  std::int64_t count = 0;
  for (double product = 1 - random.uniform(); product > limit; product *= 1 - random.uniform())
    ++count;
  return count;
}

double tau_of(int layer, double maximum) {
  return (layer + 0.5) * kLayerDepth / maximum;
}

// Fraction of a ring's energy within the square window, averaged over all directions.
double within_window(const Lateral& profile) {
  constexpr int kDirections = 16;
  double sum = 0;
  for (int i = 0; i < kDirections; ++i)
    sum += profile.within(0.5 * kSide * kCellWidth /
                          std::cos((i + 0.5) / kDirections * std::numbers::pi / 4));
  return sum / kDirections;
}

}  // namespace

double Longitudinal::before(double t) const {
  return lower_gamma(a, b() * t);
}

Longitudinal mean_longitudinal(double energy) {
  const double ln_y = std::log(energy / kCritical);
  return {ln_y - 0.812 - 0.55 / kFrequency - 0.69 * (1 - kRatio),
          0.81 + (0.458 + 2.26 / kZ) * ln_y - 0.476 / kFrequency};
}

Longitudinal draw_longitudinal(double energy, Random& random) {
  Longitudinal drawn = mean_longitudinal(energy);
  const auto [of_maximum, of_a, correlation] = fluctuations_of(energy);
  const double both = std::sqrt((1 + correlation) / 2) * random.gaussian(),
               apart = std::sqrt((1 - correlation) / 2) * random.gaussian();
  drawn.maximum *= std::exp(of_maximum * (both + apart));
  drawn.a = std::max(1.05, drawn.a * std::exp(of_a * (both - apart)));
  return drawn;
}

double Lateral::within(double r) const {
  return core * r * r / (r * r + core_radius * core_radius) +
         (1 - core) * r * r / (r * r + tail_radius * tail_radius);
}

Lateral lateral(double energy, double tau) {
  const double ln_e = std::log(energy);
  const double k1 = 0.659 - 0.00309 * kZ, k4 = 0.3585 + 0.0412 * ln_e;
  const double p2 = 0.401 + 0.00187 * kZ, p3 = 1.313 - 0.0686 * ln_e, at = (p2 - tau) / p3;
  Lateral profile;
  profile.core_radius = 0.0251 + 0.00319 * ln_e + (0.1162 - 0.000381 * kZ) * tau;
  profile.tail_radius = k1 * (std::exp(-2.59 * (tau - 0.645)) + std::exp(k4 * (tau - 0.645)));
  profile.core = (2.632 - 0.00094 * kZ) * std::exp(at - std::exp(at));
  // Corrections for a sampling calorimeter.
  const double lost = 1 - kRatio, first = std::exp(-tau) / kFrequency;
  profile.core_radius += -0.0203 * lost + 0.0397 * first;
  profile.tail_radius += -0.14 * lost - 0.495 * first;
  profile.core += lost * (0.348 - 0.642 / kFrequency * std::exp(-(tau - 1) * (tau - 1)));
  profile.core_radius = std::max(0.005, profile.core_radius);
  profile.tail_radius = std::max(profile.core_radius, profile.tail_radius);
  profile.core = std::clamp(profile.core, 0.0, 1.0);
  return profile;
}

double contained(double energy) {
  const Longitudinal along = mean_longitudinal(energy);
  double sum = 0;
  for (int layer = 0; layer < kSide; ++layer)
    sum += (along.before((layer + 1) * kLayerDepth) - along.before(layer * kLayerDepth)) *
           within_window(lateral(energy, tau_of(layer, along.maximum)));
  return sum;
}

// The energy of a layer follows the profile, with sampling fluctuations: a gamma distribution with a variance of
// kSampling^2 GeV per GeV. It is distributed over spots, whose number fluctuates too and whose positions are sampled
// from the lateral profile.
std::vector<float> make_shower(double energy, Random& random) {
  const Longitudinal along = draw_longitudinal(energy, random),
                     spots_along = {along.maximum * (0.813 + 0.0019 * kZ),
                                    along.a * (0.844 + 0.0026 * kZ)};
  const double spots = 10.3 / kSampling * std::pow(energy, 0.959);
  const double scale =
      visible(energy / 100) / energy / contained(energy) * (1 + kConstant * random.gaussian());
  const double x0 = random.uniform() - 0.5, y0 = random.uniform() - 0.5;  // in cells
  std::vector<float> cells(kCells);
  for (int layer = 0; layer < kSide; ++layer) {
    const double from = layer * kLayerDepth, to = from + kLayerDepth;
    const double variance = kSampling * kSampling;
    const double deposit =
        variance * draw_gamma(energy * (along.before(to) - along.before(from)) / variance, random);
    const std::int64_t count = std::max<std::int64_t>(
        1, draw_poisson(spots * (spots_along.before(to) - spots_along.before(from)), random));
    const auto share = static_cast<float>(deposit * scale / double(count));
    const Lateral profile = lateral(energy, tau_of(layer, along.maximum));
    for (std::int64_t i = 0; i < count; ++i) {
      const double u = random.uniform(), angle = 2 * std::numbers::pi * random.uniform();
      const double radius =
          (random.uniform() < profile.core ? profile.core_radius : profile.tail_radius) *
          std::sqrt(u / (1 - u)) / kCellWidth;
      const double x = x0 + radius * std::cos(angle) + 0.5 * kSide,
                   y = y0 + radius * std::sin(angle) + 0.5 * kSide;
      if (x < 0 || y < 0 || x >= kSide || y >= kSide) continue;
      cells[static_cast<std::size_t>((static_cast<int>(x) * kSide + static_cast<int>(y)) * kSide +
                                     layer)] += share;
    }
  }
  for (float& cell : cells)
    if (cell < kThreshold) cell = 0;
  return cells;
}

}  // namespace tutti::models::gan3d
