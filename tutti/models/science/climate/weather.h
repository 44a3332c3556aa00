// One synthetic snapshot of global weather with its storms, in 16 fields like those of CAM5.
#pragma once

#include <vector>

#include "tutti/core/random.h"
#include "tutti/models/science/climate/grid.h"

namespace tutti::models::climate {

// Numbers as in the detection data set.
enum class StormKind : std::uint8_t { kDepression, kTropicalCyclone, kExtratropical, kRiver };
inline constexpr int kStormKinds = 4;
const std::array<const char*, kStormKinds>& storm_names();

struct Box {  // in rows and columns; the upper ends are excluded
  double row_min = 0, column_min = 0, row_max = 0, column_max = 0;
};

struct Storm {
  StormKind kind;
  Box box;  // clipped at the edges of the map
};

struct Frame {
  Grid grid;
  std::array<Plane, kFields> fields;
  std::vector<Storm> storms;
  std::vector<std::uint8_t> truth;  // storms as generated: 1 tropical cyclone, 2 river
};

struct WeatherSettings {
  double cyclones = 2, depressions = 1, extratropicals = 3, rivers = 6,
         pools = 2;  // mean number per frame
};

// Tropical cyclones are Holland vortices with a warm core and spiral bands; rivers are filaments of moisture with wind
// along them. Extratropical lows (cold), depressions (weak) and round moist regions are distractors.
Frame make_frame(const Grid& grid, const WeatherSettings& settings, Random& random);

// Tangential wind in m/s of a Holland vortex, `km` from its centre. `coriolis` in 1/s.
double holland_wind(double drop_pa, double radius_km, double shape, double coriolis, double km);

// Poisson-distributed number with this mean.
int poisson(double mean, Random& random);

}  // namespace tutti::models::climate
