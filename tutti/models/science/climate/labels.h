// Labels of storms by the rules of the published data: thresholds, connected regions, percentiles. They use only the
// fields, not the generated storms.
#pragma once

#include <vector>

#include "tutti/models/science/climate/weather.h"

namespace tutti::models::climate {

enum Class : std::uint8_t { kBackground, kCyclone, kRiver };
inline constexpr int kClasses = 3;
const std::array<const char*, kClasses>& class_names();

struct LabelRules {
  double moisture = 24;          // kg/m2, minimum of a river; 21 for the wider labels
  double river_km = 1500;        // minimum diagonal of a river
  double river_width_km = 1000;  // maximum of area / north-south extent
  double vorticity = 1.6e-4;     // 1/s, of grids of 0.5 degrees and finer; less on coarser ones
  double pressure_rise = 400;    // Pa, from the centre of a cyclone to 5 degrees around
  double warm_core = 0.8;        // K, decrease over the same distance
  double wind = 17;              // m/s, maximum within 5 degrees
  double share = 0.93;           // fraction of a cyclone's box outside the cyclone
};

// One class per cell. Rivers: A = TMQ (1 - exp(-latitude^2 / (2 19^2))) - moisture; connected regions with A > 0 that
// are long and narrow. Cyclones take precedence: around each centre, the connected cells that exceed the percentile in
// one of TMQ, U850, V850 and PRECT.
std::vector<std::uint8_t> label_frame(const Frame& frame, const LabelRules& rules = {});

// Centres of warm-core vortices.
std::vector<Position> find_cyclones(const Frame& frame, const LabelRules& rules = {});

// Connected regions of `inside` (8-neighbourhood, periodic in longitude), as lists of cells.
std::vector<std::vector<std::size_t>> regions(const Grid& grid,
                                              const std::vector<std::uint8_t>& inside);

}  // namespace tutti::models::climate
