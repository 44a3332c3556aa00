// From partons to what a detector like ATLAS records: calorimeter towers and tracks, and the
// picture that the network sees.
#pragma once

#include <span>
#include <vector>

#include "tutti/core/random.h"
#include "tutti/models/science/hep/four_vector.h"

namespace tutti::models::hep {

struct Particle {
  enum class Kind { kCharged, kPhoton, kNeutral };
  FourVector momentum;
  Kind kind = Kind::kCharged;
};

// Breaks a parton into hadrons: shares of its energy from (1-z)^2/z, with small transverse kicks.
void hadronise(const FourVector& parton, std::vector<Particle>& out, Random& random);

struct Tower {
  double eta = 0, phi = 0, energy = 0;
  bool is_electromagnetic = false;
};

struct Readout {
  std::vector<Tower> towers;       // above threshold
  std::vector<FourVector> tracks;  // of charged particles that were seen
};
Readout detect(std::span<const Particle> particles, Random& random);

// `size` x `size` bins of eta (-2.5..2.5, rows) and phi (-3.15..3.15, columns) with three channels,
// one after the other: energy of all towers, of the electromagnetic ones, number of tracks.
std::vector<float> detector_image(const Readout& readout, int size);

}  // namespace tutti::models::hep
