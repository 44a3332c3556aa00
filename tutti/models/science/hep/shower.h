// Parton shower, ordered in virtuality, that conserves energy and momentum.
#pragma once

#include <vector>

#include "tutti/models/science/hep/hard_process.h"

namespace tutti::models::hep {

inline constexpr double kShowerEnd = 4;  // GeV^2; softer radiation is left to hadronisation
inline constexpr double kQuarkColour = 4.0 / 3, kGluonColour = 3;

// The strong coupling at the scale q^2 in GeV^2: one loop, five flavours, at most 0.35.
double strong_coupling(double q2);

// The partons when none can radiate any more; their total momentum is that of the system. A single parton radiates as
// if it recoiled against a partner: it keeps its direction and energy on average.
std::vector<FourVector> shower(const System& system, Random& random);

}  // namespace tutti::models::hep
