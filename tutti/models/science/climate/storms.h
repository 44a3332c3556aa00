// The storms that make_frame adds to the fields, one function each.
#pragma once

#include "tutti/models/science/climate/weather.h"

namespace tutti::models::climate {

struct Cyclone {
  Position centre;
  double drop_pa, radius_km, shape;
  Offset motion;  // m/s
  bool is_depression;
};
Cyclone draw_cyclone(const Grid& grid, bool is_depression, Random& random);
// Adds pressure, winds, warm core, moisture and rain.
void add_cyclone(const Cyclone& cyclone, Frame& frame);

struct River {
  struct Point {
    Position position;
    double along, heading;  // fraction of the length; radians north of east
  };
  std::vector<Point> axis;
  double sigma_km, moisture, wind;
};
River draw_river(Random& random);
// The low at the head of a river, before winds are derived from the pressure.
void add_river_low(const River& river, Frame& frame);
void add_river(const River& river, Frame& frame);

// A cold extratropical low: pressure and temperature, before winds are derived.
void add_extratropical(Frame& frame, Random& random);
// A round moist region that is not a storm.
void add_moist_pool(Frame& frame, Random& random);

inline double between(double low, double high, Random& random) {
  return low + (high - low) * random.uniform();
}
// Coriolis parameter, bounded below near the equator, where it would vanish.
double coriolis_at(double latitude);
Box box_around(const Grid& grid, const Position& centre, double degrees);

}  // namespace tutti::models::climate
