// Statistics of the matter distribution: linear power spectrum and growth, in a flat universe. Lengths in Mpc/h, wave
// numbers in h/Mpc.
#pragma once

#include <vector>

namespace tutti::models::cosmoflow {

struct Cosmology {
  double omega_m = 0.3, sigma_8 = 0.8, n_s = 0.96, h = 0.7, omega_b = 0.045;
};

// Eisenstein and Hu (1998), without baryon acoustic oscillations.
double transfer(const Cosmology& cosmology, double k);

// P(k) today, normalised to sigma_8.
class PowerSpectrum {
 public:
  explicit PowerSpectrum(const Cosmology& cosmology);
  double operator()(double k) const;  // (Mpc/h)^3; 0 at k = 0

 private:
  Cosmology cosmology_;
  double amplitude_ = 1;
};

// Growth of perturbations relative to today, first and second order (Carroll, Press and Turner 1992; Bouchet et al.
// 1995). The second is negative.
struct Growth {
  double first = 1, second = 0;
};
Growth growth(const Cosmology& cosmology, double redshift);

}  // namespace tutti::models::cosmoflow
