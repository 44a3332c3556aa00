// Simulation of a detector like ATLAS: from partons to calorimeter towers, tracks and the image for the network.
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

// Fragments a parton into hadrons: energy fractions from (1-z)^2/z, with small transverse momenta.
void hadronise(const FourVector& parton, std::vector<Particle>& out, Random& random);

struct Tower {
  double eta = 0, phi = 0, energy = 0;
  bool is_electromagnetic = false;
};

struct Readout {
  std::vector<Tower> towers;       // above threshold
  std::vector<FourVector> tracks;  // of detected charged particles
};
Readout detect(std::span<const Particle> particles, Random& random);

// `size` x `size` bins of eta (-2.5..2.5, rows) and phi (-3.15..3.15, columns) in three channels: energy of all towers,
// of the electromagnetic ones, number of tracks.
std::vector<float> detector_image(const Readout& readout, int size);

}  // namespace tutti::models::hep
