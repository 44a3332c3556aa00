// Smooth random fields on the globe.
#pragma once

#include "tutti/core/random.h"
#include "tutti/models/science/climate/grid.h"

namespace tutti::models::climate {

// Plane waves of random amplitude and phase with the spectrum (k^2 + 1/length^2)^(-3/2): mean 0 and unit variance over
// many fields, periodic in longitude, without a seam at the poles.
Plane random_field(const Grid& grid, double length_km, Random& random);

}  // namespace tutti::models::climate
