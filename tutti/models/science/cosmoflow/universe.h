// A synthetic universe: from a cosmology and a seed to the matter density in a periodic box.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/models/science/cosmoflow/cosmology.h"
#include "tutti/models/science/cosmoflow/fft.h"

namespace tutti::models::cosmoflow {

using Field = std::vector<CubeFft::Complex>;

// Amplitudes of a Gaussian field with this spectrum, today, in a box of `box` Mpc/h.
Field linear_modes(const CubeFft& fft, const PowerSpectrum& spectrum, double box,
                   std::uint64_t seed);

// Displacement of matter: second-order Lagrangian perturbation theory. Matter at q moves to q + D1 psi1(q) + D2
// psi2(q), psi1 = -grad phi1 with lap phi1 = delta, psi2 = grad phi2 with lap phi2 = sum over i < j of phi1,ii phi1,jj
// - phi1,ij^2.
class Displacement {
 public:
  // `modes` of the linear density.
  Displacement(const CubeFft& fft, Field modes, double box);
  // The three components, in Mpc/h, at every point of the grid.
  std::array<std::vector<float>, 3> at(const Growth& growth) const;

 private:
  const CubeFft& fft_;
  Field first_, second_;  // modes of the densities whose gradients displace matter
  double box_;
};

// Density over its mean on a grid with a side of `cells`: each particle is distributed over the eight nearest cells
// (cloud in cell) or assigned to the nearest cell.
enum class Deposit { kCloud, kNearest };
std::vector<float> density(const std::array<std::vector<float>, 3>& displacement, int particles,
                           double box, int cells, Deposit deposit);

// Peak memory: three complex fields and three components of the displacement.
inline constexpr double kBytesPerParticle = 3 * 8 + 3 * 4;

struct UniversePlan {
  double box = 256;                  // Mpc/h
  int particles = 64, cells = 64;    // along a side
  std::vector<double> redshifts{0};  // one grid per redshift
  Deposit deposit = Deposit::kCloud;
};
// One grid per redshift.
std::vector<std::vector<float>> make_universe(const Cosmology& cosmology, const UniversePlan& plan,
                                              std::uint64_t seed);

// Mean power of a field in shells of width 2 pi / box: P(k) in (Mpc/h)^3 at the mean k of the modes, for comparison
// with theory.
struct PowerBin {
  double k = 0, power = 0;
  std::int64_t modes = 0;
};
std::vector<PowerBin> measure_power(const CubeFft& fft, std::span<const CubeFft::Complex> modes,
                                    double box);

}  // namespace tutti::models::cosmoflow
