// Large-radius jets and the selection cuts of the published search, the baseline of the network.
#pragma once

#include <span>
#include <vector>

#include "tutti/models/science/hep/detector.h"

namespace tutti::models::hep {

struct Jet {
  double pt = 0, eta = 0, phi = 0, mass = 0;
};

// anti-kT, R = 1.0, trimmed (sub-jets kT R = 0.2 above 5 % of the pT); those with pT > 200 GeV and
// |eta| < 2.0, hardest first.
std::vector<Jet> large_jets(std::span<const Tower> towers);

struct Selection {
  int jets = 0;
  double leading_pt = 0, mass_sum = 0;  // of the four hardest
  double delta_eta = 0;                 // between the two hardest
  bool passes_baseline = false;         // >= 3 jets, the hardest above 440 GeV
  bool passes_sr4 = false, passes_sr5 = false;
  bool passes_cuts() const { return passes_sr4 || passes_sr5; }
};
Selection select(std::span<const Jet> jets);

// True if partons could become an event that passes the baseline: a fast check that avoids simulating hadrons of those
// that cannot.
bool may_pass_baseline(std::span<const FourVector> partons);

}  // namespace tutti::models::hep
