#include "tutti/models/science/climate/labels.h"

namespace tutti::models::climate {
namespace {

constexpr double kTropics = 40;  // degrees; no tropical cyclones beyond

std::vector<std::uint8_t> moist_cells(const Frame& frame, double threshold) {
  const Grid& grid = frame.grid;
  std::vector<std::uint8_t> moist(grid.size());
  for (int row = 0; row < grid.rows; ++row) {
    const double damping = 1 - std::exp(-std::pow(grid.latitude(row) / 19, 2) / 2);
    for (int column = 0; column < grid.columns; ++column) {
      const std::size_t i = grid.at(row, column);
      moist[i] = frame.fields[kTMQ][i] * damping > threshold;
    }
  }
  return moist;
}

bool is_river(const Grid& grid, const std::vector<std::size_t>& region, const LabelRules& rules) {
  int south = grid.rows, north = -1;
  double area = 0;
  const int origin = static_cast<int>(region.front() % grid.columns);
  int west = 0, east = 0;  // relative to the origin, so that regions across the edge stay whole
  for (std::size_t i : region) {
    const int row = static_cast<int>(i / grid.columns), column = static_cast<int>(i % grid.columns);
    south = std::min(south, row);
    north = std::max(north, row);
    int offset = grid.column(column - origin);
    if (offset > grid.columns / 2) offset -= grid.columns;
    west = std::min(west, offset);
    east = std::max(east, offset);
    area +=
        grid.cell_km() * kDegreeKm * grid.column_step() * std::cos(grid.latitude(row) * kDegree);
  }
  const Position a{grid.latitude(south), grid.longitude(origin + west)},
      b{grid.latitude(north), grid.longitude(origin + east)};
  const double extent = (north - south + 1) * grid.cell_km();
  return great_circle_km(a, b) > rules.river_km && area / extent < rules.river_width_km;
}

// Vorticity of the 850 hPa wind, positive for cyclones of both hemispheres.
Plane vorticity(const Frame& frame) {
  const Grid& grid = frame.grid;
  const Plane &u = frame.fields[kU850], &v = frame.fields[kV850];
  Plane out(grid.size());
  for (int row = 1; row + 1 < grid.rows; ++row) {
    const double dx = 2e3 * kDegreeKm * grid.column_step() * std::cos(grid.latitude(row) * kDegree);
    const double dy = 2e3 * grid.cell_km(), sense = grid.latitude(row) > 0 ? 1 : -1;
    for (int column = 0; column < grid.columns; ++column) {
      const double dv =
          v[grid.at(row, grid.column(column + 1))] - v[grid.at(row, grid.column(column - 1))];
      const double du = u[grid.at(row + 1, column)] - u[grid.at(row - 1, column)];
      out[grid.at(row, column)] = static_cast<float>(sense * (dv / dx - du / dy));
    }
  }
  return out;
}

// Minimum and maximum of a plane within `km` of a centre, and the mean at 4 to 6 degrees.
struct Around {
  float least = 1e30f, most = -1e30f;
  double ring = 0;
};
Around around(const Grid& grid, const Plane& plane, const Position& centre, double km) {
  Around a;
  double count = 0;
  visit_near(grid, centre, 6 * kDegreeKm, [&](int row, int column, const Offset& d) {
    const float value = plane[grid.at(row, column)];
    const double r = d.distance();
    if (r <= km) {
      a.least = std::min(a.least, value);
      a.most = std::max(a.most, value);
    }
    if (r < 4 * kDegreeKm || r > 6 * kDegreeKm) return;
    a.ring += value;
    ++count;
  });
  a.ring /= std::max(1.0, count);
  return a;
}

bool is_cyclone(const Frame& frame, const Position& centre, const LabelRules& rules) {
  const Grid& grid = frame.grid;
  const double near = std::max(2 * kDegreeKm, 1.5 * grid.cell_km());
  const Around pressure = around(grid, frame.fields[kPSL], centre, near);
  if (pressure.ring - pressure.least < rules.pressure_rise) return false;
  // Otherwise it is a band of a storm whose centre is elsewhere.
  if (around(grid, frame.fields[kPSL], centre, 5 * kDegreeKm).least < pressure.least) return false;
  Plane mean(grid.size());  // temperature aloft
  for (std::size_t i = 0; i < mean.size(); ++i)
    mean[i] = 0.5f * (frame.fields[kT200][i] + frame.fields[kT500][i]);
  const Around temperature = around(grid, mean, centre, near);
  if (temperature.most - temperature.ring < rules.warm_core) return false;
  double wind = 0;
  visit_near(grid, centre, 5 * kDegreeKm, [&](int row, int column, const Offset&) {
    const std::size_t i = grid.at(row, column);
    wind =
        std::max(wind, std::hypot(double(frame.fields[kU850][i]), double(frame.fields[kV850][i])));
  });
  return wind >= rules.wind;
}

// Radius of winds of 17 m/s in degrees.
double storm_radius(const Frame& frame, const Position& centre) {
  double radius = 0;
  visit_near(frame.grid, centre, 6 * kDegreeKm, [&](int row, int column, const Offset& d) {
    const std::size_t i = frame.grid.at(row, column);
    if (std::hypot(frame.fields[kU850][i], frame.fields[kV850][i]) >= 17)
      radius = std::max(radius, d.distance() / kDegreeKm);
  });
  return std::min(radius, 5.0);
}

void keep_largest(const Grid& grid, std::vector<std::uint8_t>& inside) {
  const auto all = regions(grid, inside);
  std::fill(inside.begin(), inside.end(), std::uint8_t{0});
  const auto largest = std::max_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (largest == all.end()) return;
  for (std::size_t i : *largest) inside[i] = 1;
}

std::vector<std::uint8_t> cyclone_mask(const Frame& frame, const Position& centre, double share) {
  const Grid& grid = frame.grid;
  const double degrees = storm_radius(frame, centre) + 6.6;
  std::vector<std::size_t> box;
  visit_near(grid, centre, 2 * degrees * kDegreeKm, [&](int row, int column, const Offset&) {
    const double east = std::remainder(grid.longitude(column) - centre.longitude, 360);
    if (std::abs(east) <= degrees && std::abs(grid.latitude(row) - centre.latitude) <= degrees)
      box.push_back(grid.at(row, column));
  });
  std::vector<std::uint8_t> mask(grid.size());
  for (Field field : {kTMQ, kU850, kV850, kPRECT}) {
    std::vector<float> values;
    for (std::size_t i : box) values.push_back(frame.fields[field][i]);
    const auto limit =
        values.begin() + static_cast<std::ptrdiff_t>(share * double(values.size() - 1));
    std::nth_element(values.begin(), limit, values.end());
    std::vector<std::uint8_t> above(grid.size());
    for (std::size_t i : box) above[i] = frame.fields[field][i] > *limit;
    keep_largest(grid, above);
    for (std::size_t i : box) mask[i] |= above[i];
  }
  keep_largest(grid, mask);
  return mask;
}

}  // namespace

const std::array<const char*, kClasses>& class_names() {
  static const std::array<const char*, kClasses> names = {"background", "tropical cyclone",
                                                          "atmospheric river"};
  return names;
}

std::vector<std::vector<std::size_t>> regions(const Grid& grid,
                                              const std::vector<std::uint8_t>& inside) {
  std::vector<std::uint8_t> seen(grid.size());
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t start = 0; start < grid.size(); ++start) {
    if (!inside[start] || seen[start]) continue;
    std::vector<std::size_t> region = {start};
    seen[start] = 1;
    for (std::size_t next = 0; next < region.size(); ++next) {
      const int row = static_cast<int>(region[next] / grid.columns),
                column = static_cast<int>(region[next] % grid.columns);
      for (int r = std::max(0, row - 1); r <= std::min(grid.rows - 1, row + 1); ++r)
        for (int c = column - 1; c <= column + 1; ++c) {
          const std::size_t i = grid.at(r, grid.column(c));
          if (!inside[i] || seen[i]) continue;
          seen[i] = 1;
          region.push_back(i);
        }
    }
    all.push_back(std::move(region));
  }
  return all;
}

std::vector<Position> find_cyclones(const Frame& frame, const LabelRules& rules) {
  const Grid& grid = frame.grid;
  const Plane spin = vorticity(frame);
  // A vortex that covers few cells has less vorticity than on a fine grid.
  const double least = rules.vorticity * std::min(1.0, 0.5 / grid.row_step());
  std::vector<Position> found;
  for (int row = 0; row < grid.rows; ++row)
    for (int column = 0; column < grid.columns; ++column) {
      const Position position{grid.latitude(row), grid.longitude(column)};
      const float here = spin[grid.at(row, column)];
      if (std::abs(position.latitude) > kTropics || here < least) continue;
      bool is_highest = true;
      visit_near(grid, position, 0.5 * 7.75 * kDegreeKm, [&](int r, int c, const Offset&) {
        is_highest = is_highest && spin[grid.at(r, c)] <= here;
      });
      if (is_highest && is_cyclone(frame, position, rules)) found.push_back(position);
    }
  return found;
}

std::vector<std::uint8_t> label_frame(const Frame& frame, const LabelRules& rules) {
  std::vector<std::uint8_t> labels(frame.grid.size());
  for (const auto& region : regions(frame.grid, moist_cells(frame, rules.moisture)))
    if (is_river(frame.grid, region, rules))
      for (std::size_t i : region) labels[i] = kRiver;
  for (const Position& centre : find_cyclones(frame, rules)) {
    const std::vector<std::uint8_t> mask = cyclone_mask(frame, centre, rules.share);
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (mask[i]) labels[i] = kCyclone;
  }
  return labels;
}

}  // namespace tutti::models::climate
