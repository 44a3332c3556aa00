// Building blocks of synthetic scans. Coordinates are in [-1, 1] along each axis.
#pragma once

#include <array>
#include <vector>

#include "tutti/core/random.h"

namespace tutti::models::unet3d {

using Point = std::array<double, 3>;

// Random numbers of mean 0 and unit variance at the corners of a grid with a side of `cells`, smooth between them.
class SmoothField {
 public:
  SmoothField(int cells, Random& random);
  double at(const Point& p) const;

 private:
  int cells_;
  std::vector<double> values_;
};

// Random orientation: rotated by about `turn`; uniform for kAnyTurn.
class Ellipsoid {
 public:
  static constexpr double kAnyTurn = 10;
  Ellipsoid(const Point& centre, const Point& axes, double turn, Random& random);
  double at(const Point& p) const;  // 0 at the centre, 1 on the surface

 private:
  Point centre_;
  std::array<Point, 3> rows_;
};

}  // namespace tutti::models::unet3d
