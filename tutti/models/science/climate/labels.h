// Where storms are, by the rules that made the labels of the published data: thresholds, connected
// regions, percentiles. They see only the fields, not what was put into them.
#pragma once

#include <vector>

#include "tutti/models/science/climate/weather.h"

namespace tutti::models::climate {

enum Class : std::uint8_t { kBackground, kCyclone, kRiver };
inline constexpr int kClasses = 3;
const std::array<const char*, kClasses>& class_names();

struct LabelRules {
  double moisture = 24;          // kg/m2 above which it may be a river; 21 for the wider labels
  double river_km = 1500;        // least diagonal of a river
  double river_width_km = 1000;  // most area by extent from south to north
  double vorticity = 1.6e-4;     // 1/s, of grids of 0.5 degrees and finer; less on coarser ones
  double pressure_rise = 400;    // Pa, from the centre of a cyclone to 5 degrees around
  double warm_core = 0.8;        // K, the same way down
  double wind = 17;              // m/s, somewhere within 5 degrees
  double share = 0.93;           // of a cyclone's box that is not it
};

// One class per place. Rivers: A = TMQ (1 - exp(-latitude^2 / (2 19^2))) - moisture, connected
// regions with A > 0 that are long and narrow. Cyclones, over rivers: round each centre, what
// exceeds the percentile in one of TMQ, U850, V850 and PRECT, connected.
std::vector<std::uint8_t> label_frame(const Frame& frame, const LabelRules& rules = {});

// Centres of warm-core vortices.
std::vector<Position> find_cyclones(const Frame& frame, const LabelRules& rules = {});

// Regions of `inside` that hang together (over corners as well, and round the globe), as lists of
// places.
std::vector<std::vector<std::size_t>> regions(const Grid& grid,
                                              const std::vector<std::uint8_t>& inside);

}  // namespace tutti::models::climate
