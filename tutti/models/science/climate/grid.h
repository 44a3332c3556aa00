// Latitude-longitude grid and the fields on it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace tutti::models::climate {

inline constexpr double kDegree = std::numbers::pi / 180;  // in radians
inline constexpr double kDegreeKm = 111.195;               // along a meridian

// Row 0 is the southernmost; column 0 is at longitude 0. Positions are cell centres.
struct Grid {
  int rows = 96, columns = 144;
  double row_step() const { return 180.0 / rows; }  // degrees
  double column_step() const { return 360.0 / columns; }
  double latitude(int row) const { return -90 + (row + 0.5) * row_step(); }
  double longitude(int column) const { return (column + 0.5) * column_step(); }
  int column(int any) const {
    return ((any % columns) + columns) % columns;
  }  // modulo the number of columns
  std::size_t size() const { return static_cast<std::size_t>(rows) * columns; }
  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * columns + column;
  }
  double cell_km() const { return row_step() * kDegreeKm; }  // from row to row
};

struct Position {
  double latitude = 0, longitude = 0;  // degrees
};

// Displacement to a nearby position, in km to the east and to the north.
struct Offset {
  double east = 0, north = 0;
  double distance() const { return std::hypot(east, north); }
};
inline Offset offset(const Position& from, const Position& to) {
  const double mean = 0.5 * (from.latitude + to.latitude) * kDegree;
  return {std::remainder(to.longitude - from.longitude, 360) * kDegreeKm * std::cos(mean),
          (to.latitude - from.latitude) * kDegreeKm};
}
double great_circle_km(const Position& a, const Position& b);

// Calls visit(row, column, offset from the centre) for all cells at most `km` away, and a few more.
template <class Visit>
void visit_near(const Grid& grid, const Position& centre, double km, Visit visit) {
  const int row = static_cast<int>((centre.latitude + 90) / grid.row_step());
  const int reach = static_cast<int>(km / grid.cell_km()) + 1;
  for (int r = std::max(0, row - reach); r <= std::min(grid.rows - 1, row + reach); ++r) {
    const double width =
        kDegreeKm * grid.column_step() *
        std::max(0.1, std::cos(0.5 * (grid.latitude(r) + centre.latitude) * kDegree));
    const int middle = static_cast<int>(centre.longitude / grid.column_step());
    const int wide = std::min(grid.columns / 2 - 1, static_cast<int>(km / width) + 1);
    for (int c = middle - wide; c <= middle + wide; ++c) {
      const int column = grid.column(c);
      visit(r, column, offset(centre, {grid.latitude(r), grid.longitude(column)}));
    }
  }
}

// Output variables of the model CAM5, in the order of the segmentation data set.
enum Field : std::uint8_t {
  kTMQ,
  kU850,
  kV850,
  kUBOT,
  kVBOT,
  kQREFHT,
  kPS,
  kPSL,
  kT200,
  kT500,
  kPRECT,
  kTS,
  kTREFHT,
  kZ1000,
  kZ200,
  kZBOT
};
inline constexpr int kFields = 16;
const std::array<const char*, kFields>& field_names();

using Plane = std::vector<float>;  // one value per cell of a grid

}  // namespace tutti::models::climate
