#include "tutti/models/science/climate/storms.h"

namespace tutti::models::climate {
namespace {

// Boxes across the edge of the map are clipped there; the larger part is kept.
Box on_map(const Grid& grid, Box box) {
  const double width = grid.columns;
  if (box.column_min >= width)
    box = {box.row_min, box.column_min - width, box.row_max, box.column_max - width};
  if (box.column_max <= 0)
    box = {box.row_min, box.column_min + width, box.row_max, box.column_max + width};
  if (box.column_min < 0) {
    const bool right_is_larger = -box.column_min > box.column_max;
    box.column_max = right_is_larger ? width : box.column_max;
    box.column_min = right_is_larger ? box.column_min + width : 0;
  } else if (box.column_max > width) {
    const bool left_is_larger = box.column_max - width > width - box.column_min;
    box.column_min = left_is_larger ? 0 : box.column_min;
    box.column_max = left_is_larger ? box.column_max - width : width;
  }
  box.row_min = std::max(0.0, box.row_min);
  box.row_max = std::min(double(grid.rows), box.row_max);
  return box;
}

double spiral(const Offset& d, double r, double radius_km) {
  const double angle = std::atan2(d.north, d.east);
  const double turn = std::log(std::max(r, 1.0) / radius_km) / std::tan(20 * kDegree);
  return 1 + 0.2 * std::cos(2 * (angle - turn)) * std::exp(-r / 300);
}

}  // namespace

double coriolis_at(double latitude) {
  const double f = 1.4584e-4 * std::sin(latitude * kDegree);
  return std::copysign(std::max(std::abs(f), 2.5e-5), latitude);
}

Box box_around(const Grid& grid, const Position& centre, double degrees) {
  const double row = (centre.latitude + 90) / grid.row_step(),
               column = centre.longitude / grid.column_step();
  // Boxes are at least three cells wide on the map.
  const double rows = std::max(1.5, degrees / grid.row_step()),
               columns = std::max(1.5, degrees / grid.column_step());
  return on_map(grid, {row - rows, column - columns, row + rows, column + columns});
}

double holland_wind(double drop_pa, double radius_km, double shape, double coriolis, double km) {
  const double r = std::max(km, 1.0), power = std::pow(radius_km / r, shape);
  const double spin = 1e3 * r * std::abs(coriolis) / 2;
  return std::sqrt(shape * drop_pa / 1.15 * power * std::exp(-power) + spin * spin) - spin;
}

Cyclone draw_cyclone(const Grid& grid, bool is_depression, Random& random) {
  Cyclone c;
  c.centre = {between(8, 30, random) * (random.below(2) ? 1 : -1), between(0, 360, random)};
  c.drop_pa = is_depression ? between(500, 1500, random) : between(1500, 8000, random);
  c.radius_km = std::max(between(30, 80, random), 1.5 * grid.cell_km());
  c.shape = between(1.1, 1.9, random);
  const double speed = between(3, 8, random), heading = between(0, 360, random) * kDegree;
  c.motion = {speed * std::cos(heading), speed * std::sin(heading)};
  c.is_depression = is_depression;
  return c;
}

void add_cyclone(const Cyclone& c, Frame& frame) {
  auto& f = frame.fields;
  const double sense = c.centre.latitude > 0 ? 1 : -1, drop_hpa = c.drop_pa / 100;
  const double coriolis = coriolis_at(c.centre.latitude);
  const double moist = c.is_depression ? 0.5 : 1, inflow = 22 * kDegree;
  visit_near(frame.grid, c.centre, 1500, [&](int row, int column, const Offset& d) {
    const std::size_t i = frame.grid.at(row, column);
    const double r = std::max(d.distance(), 1.0), fade = std::exp(-std::pow(r / 900, 4));
    f[kPSL][i] -= float(fade * c.drop_pa * (1 - std::exp(-std::pow(c.radius_km / r, c.shape))));
    const double wind = fade * holland_wind(c.drop_pa, c.radius_km, c.shape, coriolis, r);
    const double east = -sense * d.north / r, north = sense * d.east / r;  // along the circle
    const double inward_east = -d.east / r, inward_north = -d.north / r;
    const double drift = 0.5 * std::exp(-r / 500);
    f[kU850][i] += float(wind * east + drift * c.motion.east);
    f[kV850][i] += float(wind * north + drift * c.motion.north);
    f[kUBOT][i] += float(0.8 * wind * (east * std::cos(inflow) + inward_east * std::sin(inflow)));
    f[kVBOT][i] += float(0.8 * wind * (north * std::cos(inflow) + inward_north * std::sin(inflow)));
    // A core of 150 km could fall between the cells of a coarse grid.
    const double core = std::max(150.0, 1.2 * frame.grid.cell_km());
    f[kT500][i] += float(0.05 * drop_hpa * std::exp(-std::pow(r / core, 2)));
    f[kT200][i] += float(0.08 * drop_hpa * std::exp(-std::pow(r / (1.33 * core), 2)));
    const double band = spiral(d, r, c.radius_km),
                 wet = moist * std::exp(-std::pow(r / 260, 1.5)) * band;
    f[kTMQ][i] += float((68 - f[kTMQ][i]) * std::min(1.0, wet));
    f[kPRECT][i] += float(moist * 1.5e-6 * r / c.radius_km * std::exp(1 - r / c.radius_km) * band);
    f[kQREFHT][i] += float(1.5e-3 * wet);
    f[kTS][i] -= float(0.5 * std::exp(-r / 300));
    if (!c.is_depression && r < 1.5 * c.radius_km) frame.truth[i] = 1;
  });
  frame.storms.push_back({c.is_depression ? StormKind::kDepression : StormKind::kTropicalCyclone,
                          box_around(frame.grid, c.centre, 2.5)});
}

River draw_river(Random& random) {
  constexpr double kStepKm = 50;
  River river;
  const double sense = random.below(2) ? 1 : -1;
  Position at{sense * between(20, 28, random), between(0, 360, random)};
  double heading = between(30, 60, random) * kDegree;
  const double bend = between(-0.3, 0.3, random) * kStepKm / 2000;
  const double length = between(2000, 6000, random);
  for (double s = 0; s < length && std::abs(at.latitude) < 65; s += kStepKm) {
    river.axis.push_back({at, s, sense * heading});
    at.latitude += sense * kStepKm * std::sin(heading) / kDegreeKm;
    at.longitude += kStepKm * std::cos(heading) / (kDegreeKm * std::cos(at.latitude * kDegree));
    heading += bend;
  }
  for (River::Point& point : river.axis) {
    point.along /= double(river.axis.size()) * kStepKm;
    point.position.longitude = std::fmod(point.position.longitude, 360);
  }
  river.sigma_km = between(150, 250, random);
  river.moisture = between(28, 42, random);
  river.wind = between(15, 30, random);
  return river;
}

void add_river_low(const River& river, Frame& frame) {
  const River::Point& head = river.axis.back();
  const double poleward = head.position.latitude > 0 ? 4 : -4;
  const Position centre{head.position.latitude + poleward, head.position.longitude};
  visit_near(frame.grid, centre, 2000, [&](int row, int column, const Offset& d) {
    frame.fields[kPSL][frame.grid.at(row, column)] -=
        float(800 * std::exp(-std::pow(d.distance() / 700, 2)));
  });
}

void add_river(const River& river, Frame& frame) {
  const Grid& grid = frame.grid;
  std::vector<double> weight(grid.size()), heading(grid.size());
  // Unwrapped, so that a river across the edge of the map has one box.
  double row_min = grid.rows, row_max = 0, column_min = 1e9, column_max = -1e9;
  const double first = river.axis.front().position.longitude;
  for (const River::Point& point : river.axis) {
    const double strength = std::sqrt(std::sin(std::numbers::pi * point.along));
    visit_near(
        grid, point.position, 3.5 * river.sigma_km, [&](int row, int column, const Offset& d) {
          const std::size_t i = grid.at(row, column);
          const double w = strength * std::exp(-0.5 * std::pow(d.distance() / river.sigma_km, 2));
          if (w <= weight[i]) return;
          weight[i] = w;
          heading[i] = point.heading;
        });
    const double row = (point.position.latitude + 90) / grid.row_step();
    const double offset = point.position.longitude - first;
    const double column = (first + (offset < -90 ? offset + 360 : offset)) / grid.column_step();
    row_min = std::min(row_min, row);
    row_max = std::max(row_max, row);
    column_min = std::min(column_min, column);
    column_max = std::max(column_max, column);
  }
  auto& f = frame.fields;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] <= 0) continue;
    const double w = weight[i], wind = river.wind * std::sqrt(w);
    f[kTMQ][i] += float(river.moisture * w);
    f[kU850][i] += float(wind * std::cos(heading[i]));
    f[kV850][i] += float(wind * std::sin(heading[i]));
    f[kUBOT][i] += float(0.7 * wind * std::cos(heading[i]));
    f[kVBOT][i] += float(0.7 * wind * std::sin(heading[i]));
    f[kQREFHT][i] += float(2e-3 * w);
    f[kPRECT][i] += float(3e-7 * w);
    if (w > 0.5 && frame.truth[i] == 0) frame.truth[i] = 2;
  }
  const double rows = river.sigma_km / grid.cell_km(),
               columns = rows * grid.row_step() / grid.column_step();
  frame.storms.push_back({StormKind::kRiver, on_map(grid, {row_min - rows, column_min - columns,
                                                           row_max + rows, column_max + columns})});
}

void add_extratropical(Frame& frame, Random& random) {
  const Position centre{between(35, 65, random) * (random.below(2) ? 1 : -1),
                        between(0, 360, random)};
  const double depth = between(1500, 4000, random), radius = between(600, 1000, random);
  visit_near(frame.grid, centre, 3 * radius, [&](int row, int column, const Offset& d) {
    const double w = std::exp(-std::pow(d.distance() / radius, 2));
    frame.fields[kPSL][frame.grid.at(row, column)] -= float(depth * w);
    frame.fields[kT500][frame.grid.at(row, column)] -= float(3 * w);
  });
  frame.storms.push_back({StormKind::kExtratropical, box_around(frame.grid, centre, 6)});
}

void add_moist_pool(Frame& frame, Random& random) {
  const Position centre{between(15, 50, random) * (random.below(2) ? 1 : -1),
                        between(0, 360, random)};
  const double radius = between(400, 600, random);
  visit_near(frame.grid, centre, 3 * radius, [&](int row, int column, const Offset& d) {
    frame.fields[kTMQ][frame.grid.at(row, column)] +=
        float(15 * std::exp(-std::pow(d.distance() / radius, 2)));
  });
}

}  // namespace tutti::models::climate
