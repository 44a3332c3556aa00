#include "tutti/models/science/cosmoflow/cosmology.h"

#include <cmath>
#include <numbers>

namespace tutti::models::cosmoflow {
namespace {

// Fourier transform of a ball of radius 1.
double top_hat(double x) {
  return x < 1e-3 ? 1 - x * x / 10 : 3 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
}

double growth_suppression(double omega_m, double omega_l) {
  return 2.5 * omega_m /
         (std::pow(omega_m, 4.0 / 7) - omega_l + (1 + omega_m / 2) * (1 + omega_l / 70));
}

}  // namespace

double transfer(const Cosmology& c, double k) {
  const double om = c.omega_m * c.h * c.h, ob = c.omega_b * c.h * c.h, fb = c.omega_b / c.omega_m;
  const double sound = 44.5 * std::log(9.83 / om) / std::sqrt(1 + 10 * std::pow(ob, 0.75));
  const double alpha = 1 - 0.328 * std::log(431 * om) * fb + 0.38 * std::log(22.3 * om) * fb * fb;
  const double gamma =
      c.omega_m * c.h * (alpha + (1 - alpha) / (1 + std::pow(0.43 * k * c.h * sound, 4)));
  const double temperature = 2.7255 / 2.7, q = k * temperature * temperature / gamma;
  const double l = std::log(2 * std::numbers::e + 1.8 * q), b = 14.2 + 731 / (1 + 62.5 * q);
  return l / (l + b * q * q);
}

PowerSpectrum::PowerSpectrum(const Cosmology& cosmology) : cosmology_(cosmology) {
  constexpr int kSteps = 2000;
  constexpr double kLow = -10, kHigh = 4;  // of ln k
  double variance = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double k = std::exp(kLow + (kHigh - kLow) * i / kSteps), w = top_hat(8 * k);
    variance += k * k * k * (*this)(k)*w * w / (2 * std::numbers::pi * std::numbers::pi);
  }
  variance *= (kHigh - kLow) / kSteps;
  amplitude_ = cosmology.sigma_8 * cosmology.sigma_8 / variance;
}

double PowerSpectrum::operator()(double k) const {
  if (k <= 0) return 0;
  const double t = transfer(cosmology_, k);
  return amplitude_ * std::pow(k, cosmology_.n_s) * t * t;
}

Growth growth(const Cosmology& c, double redshift) {
  const double matter = c.omega_m * std::pow(1 + redshift, 3), vacuum = 1 - c.omega_m,
               omega = matter / (matter + vacuum);
  Growth result;
  result.first = growth_suppression(omega, 1 - omega) /
                 (growth_suppression(c.omega_m, vacuum) * (1 + redshift));
  result.second = -3.0 / 7 * result.first * result.first * std::pow(omega, -1.0 / 143);
  return result;
}

}  // namespace tutti::models::cosmoflow
