// What heads are put together from. Places are in [-1, 1] along each axis.
#pragma once

#include <array>
#include <vector>

#include "tutti/core/random.h"

namespace tutti::models::unet3d {

using Point = std::array<double, 3>;

// Random numbers of mean 0 and spread 1 at the corners of a grid of `cells` a side, smooth between
// them.
class SmoothField {
 public:
  SmoothField(int cells, Random& random);
  double at(const Point& p) const;

 private:
  int cells_;
  std::vector<double> values_;
};

// Which way one lies is random: turned by about `turn`, all ways alike for kAnyTurn.
class Ellipsoid {
 public:
  static constexpr double kAnyTurn = 10;
  Ellipsoid(const Point& centre, const Point& axes, double turn, Random& random);
  double at(const Point& p) const;  // 0 in the middle, 1 on the surface

 private:
  Point centre_;
  std::array<Point, 3> rows_;
};

}  // namespace tutti::models::unet3d
