// Comparison of generated showers with real ones of the same energies.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tutti/models/science/gan3d/shower.h"
#include "tutti/plot/chart.h"

namespace tutti::models::gan3d {

inline constexpr int kSpectrumBins = 24;  // four per decade from 1 keV to 1 GeV

// Observables of a shower, in GeV, as an array that can be reduced over ranks.
struct Shape {
  float sum = 0;                                     // of all cells
  std::array<std::array<float, kSide>, 3> profiles;  // sums over the other two axes: x, y, z
  std::array<float, kSpectrumBins> spectrum;         // number of cells per bin of energy

  double centre(int axis) const;  // first moment, in cells
  double width(int axis) const;   // root of the second central moment
};
inline constexpr std::size_t kShapeValues = 1 + 3 * kSide + kSpectrumBins;
static_assert(sizeof(Shape) == kShapeValues * sizeof(float));

Shape shape_of(std::span<const float> cells);

// Generated and real showers of the same energies.
struct Comparison {
  std::vector<double> energies;
  std::vector<Shape> generated, real;
};

// Energies of the published comparison.
inline constexpr std::array<double, 4> kBinCentres = {100, 200, 300, 400};
inline constexpr double kHalfBin = 50;

// Relative errors of the means over the showers of a bin, averaged over the bins.
struct Verdict {
  double longitudinal = 0, lateral = 0;  // of profiles, in slices with more than 1 % of the energy
  double depth = 0;                      // of the centre along z
  double width = 0;                      // of the widths along x, y and z
  double response = 0;                   // of the sum over the energy of the electron
  double resolution_generated = 0,
         resolution_real = 0;        // standard deviation of sum / its mean at that energy
  std::optional<double> separation;  // see separation()
  // Mean of the five errors.
  double error() const { return (longitudinal + lateral + depth + width + response) / 5; }
};
Verdict compare(const Comparison& comparison);

// Area under the ROC curve of Fisher's discriminant on energy fractions in slices, on sum / energy, and on the squares
// of their deviations from the mean: fitted to every second pair, evaluated on the others. 0.5: not separable; nullopt:
// too few showers.
std::optional<double> separation(const Comparison& comparison);

// Mean profile along an axis in bins of energy.
plot::Chart profile_chart(const Comparison& comparison, int axis);
// Mean and standard deviation of sum / energy of the electron, against that energy.
plot::Chart response_chart(const Comparison& comparison);
plot::Chart spectrum_chart(const Comparison& comparison);

}  // namespace tutti::models::gan3d
