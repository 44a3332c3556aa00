// Hard processes: pairs of gluinos that decay to ten quarks (signal), QCD dijets (background).
#pragma once

#include <span>
#include <vector>

#include "tutti/core/random.h"
#include "tutti/models/science/hep/four_vector.h"

namespace tutti::models::hep {

struct Parton {
  FourVector momentum;
  bool is_gluon = false;
};

// Partons that radiate together and conserve their total momentum.
using System = std::vector<Parton>;

struct HardEvent {
  std::vector<System> systems;
  double scale = 0;   // GeV, of the hard process
  double weight = 1;  // ratio of the physical rate to the rate of generation
};

// A range of the jets' transverse momentum, with the cross-section of the published sample.
struct Slice {
  int number;            // JZ<number>
  double low, high;      // GeV
  double cross_section;  // millibarn
};
std::span<const Slice> slices();  // those that can pass the selection

inline constexpr double kSignalCrossSection = 1.436e-11;  // millibarn
inline constexpr double kGluinoMass = 1400, kNeutralinoMass = 850;

// g g -> gluino gluino, each gluino -> q q X, X -> q q q, flat in the Dalitz plane.
HardEvent make_signal(Random& random);
// Two partons back to back. Hard ones are generated more often than in nature and weighted accordingly.
HardEvent make_background(const Slice& slice, Random& random);

// Decay of a body at rest into three, flat in the Dalitz plane, with random orientation; `mass3` is the mass of the
// last, the other two are massless.
std::vector<FourVector> three_body_decay(double mass, double mass3, Random& random);

}  // namespace tutti::models::hep
