// What collides: pairs of gluinos that decay to ten quarks (signal), two jets of QCD (background).
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

// Partons that radiate together and keep their sum.
using System = std::vector<Parton>;

struct HardEvent {
  std::vector<System> systems;
  double scale = 0;   // GeV, of the hard process
  double weight = 1;  // by how often nature makes it, relative to how often we do
};

// A range of the jets' transverse momentum, with its cross-section as the published sample has it.
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
// Two partons back to back. Harder ones than nature's are made on purpose, and weighted back.
HardEvent make_background(const Slice& slice, Random& random);

// Three massive or massless bodies from one at rest, flat in the Dalitz plane, oriented at random;
// `mass3` belongs to the last, the other two are massless.
std::vector<FourVector> three_body_decay(double mass, double mass3, Random& random);

}  // namespace tutti::models::hep
