// Parametrised electron showers in a tungsten-silicon calorimeter.
//
// The mean shower is that of Grindhammer and Peters (hep-ex/0001020), as in GFlash. Along its axis it is a gamma
// distribution with two correlated parameters that fluctuate from shower to shower. The lateral profile is a core and a
// tail that widen with depth. Depths are in radiation lengths, radii in Moliere radii, energies in GeV.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/core/random.h"

namespace tutti::models::gan3d {

inline constexpr int kSide = 25;                       // cells along x and y, and layers
inline constexpr int kCells = kSide * kSide * kSide;   // z, the depth, changes fastest
inline constexpr double kLayerDepth = 0.685;           // X0 of 2.4 mm of tungsten
inline constexpr double kCellWidth = 5.1 / 19.5;       // of 5.1 mm, in Moliere radii of the stack
inline constexpr double kSampling = 0.17;              // stochastic term of the resolution
inline constexpr double kConstant = 0.01;              // constant term
inline constexpr double kThreshold = 1e-6;             // GeV; cells below are empty
inline constexpr double kLowest = 10, kHighest = 510;  // GeV of the electrons

// Along the axis: dE/dt = E b (b t)^(a-1) exp(-b t) / Gamma(a), with its maximum at (a-1)/b.
struct Longitudinal {
  double maximum = 0, a = 0;
  double b() const { return (a - 1) / maximum; }
  // Fraction of the energy before the depth t.
  double before(double t) const;
};
// The mean shower of that energy, and a random one.
Longitudinal mean_longitudinal(double energy);
Longitudinal draw_longitudinal(double energy, Random& random);

// Lateral profile at a depth of `tau` times that of the maximum: a fraction `core` of the energy has the radius
// `core_radius`, the rest `tail_radius`; of each, the fraction r^2 / (r^2 + R^2) is within r.
struct Lateral {
  double core = 0, core_radius = 0, tail_radius = 0;
  double within(double r) const;
};
Lateral lateral(double energy, double tau);

// Mean visible energy in GeV of an electron of y times 100 GeV: about 2 % of it. A fit to the full simulation of the
// published data set. For numbers and tensors.
template <class Energy>
Energy visible(const Energy& y) {
  return y * (2.21 + y * (-0.28 + y * (0.11 + y * (-0.023 + y * 0.0018))));
}
// Fraction of the mean shower inside the 25 layers and the window.
double contained(double energy);

// One shower: GeV in each cell (x, y, z), kCells of them. The electron enters at a random point of the central cell.
std::vector<float> make_shower(double energy, Random& random);

}  // namespace tutti::models::gan3d
