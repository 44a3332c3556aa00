// Four-vectors of energy and momentum, in GeV.
#pragma once

#include <algorithm>
#include <cmath>

namespace tutti::models::hep {

struct FourVector {
  double x = 0, y = 0, z = 0, e = 0;

  FourVector operator+(const FourVector& o) const { return {x + o.x, y + o.y, z + o.z, e + o.e}; }
  double p2() const { return x * x + y * y + z * z; }
  double p() const { return std::sqrt(p2()); }
  double pt() const { return std::hypot(x, y); }
  double mass2() const { return e * e - p2(); }
  double mass() const { return std::sqrt(std::max(0.0, mass2())); }
  double phi() const { return std::atan2(y, x); }
  double eta() const { return std::asinh(z / std::max(pt(), 1e-12)); }
};

// Massless, or of the given mass.
inline FourVector from_pt_eta_phi(double pt, double eta, double phi, double mass = 0) {
  const double z = pt * std::sinh(eta), p = pt * std::cosh(eta);
  return {pt * std::cos(phi), pt * std::sin(phi), z, std::sqrt(p * p + mass * mass)};
}

// Boosts `v` from the rest frame of `frame` to the frame in which `frame` has its momentum.
inline FourVector boosted(const FourVector& v, const FourVector& frame) {
  const double mass = frame.mass();
  const double along = v.x * frame.x + v.y * frame.y + v.z * frame.z;
  const double factor = (along / (frame.e + mass) + v.e) / mass;
  const double energy = (v.e * frame.e + along) / mass;
  return {v.x + frame.x * factor, v.y + frame.y * factor, v.z + frame.z * factor, energy};
}

// The inverse: boosts `v` into the rest frame of `frame`.
inline FourVector at_rest_of(const FourVector& v, const FourVector& frame) {
  return boosted(v, {-frame.x, -frame.y, -frame.z, frame.e});
}

}  // namespace tutti::models::hep
