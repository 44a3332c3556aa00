#include "tutti/models/vision/unet3d/solids.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tutti::models::unet3d {
namespace {

// A rotation by a quaternion.
std::array<Point, 3> rotation(double turn, Random& random) {
  std::array<double, 4> q = {1, 0, 0, 0};
  for (std::size_t i = 1; i < 4; ++i) q[i] = turn * random.gaussian();
  const double length = std::sqrt(std::inner_product(q.begin(), q.end(), q.begin(), 0.0));
  const double w = q[0] / length, x = q[1] / length, y = q[2] / length, z = q[3] / length;
  return {Point{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
          Point{2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
          Point{2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
}

}  // namespace

SmoothField::SmoothField(int cells, Random& random) : cells_(cells) {
  const auto corners = static_cast<std::size_t>(cells) + 1;
  values_.resize(corners * corners * corners);
  for (double& value : values_) value = random.gaussian();
}

double SmoothField::at(const Point& p) const {
  int corner[3];
  double share[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double x = (p[axis] + 1) / 2 * cells_;
    corner[axis] = std::clamp(static_cast<int>(x), 0, cells_ - 1);
    const double t = x - corner[axis];
    share[axis] = t * t * (3 - 2 * t);
  }
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    double weight = 1;
    std::size_t index = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const int step = i >> axis & 1;
      weight *= step ? share[axis] : 1 - share[axis];
      index = index * static_cast<std::size_t>(cells_ + 1) +
              static_cast<std::size_t>(corner[axis] + step);
    }
    sum += weight * values_[index];
  }
  return sum;
}

Ellipsoid::Ellipsoid(const Point& centre, const Point& axes, double turn, Random& random)
    : centre_(centre), rows_(rotation(turn, random)) {
  for (std::size_t i = 0; i < 3; ++i)
    for (double& x : rows_[i]) x /= axes[i];
}

double Ellipsoid::at(const Point& p) const {
  double squares = 0;
  for (const Point& row : rows_) {
    const double along =
        row[0] * (p[0] - centre_[0]) + row[1] * (p[1] - centre_[1]) + row[2] * (p[2] - centre_[2]);
    squares += along * along;
  }
  return std::sqrt(squares);
}

}  // namespace tutti::models::unet3d
