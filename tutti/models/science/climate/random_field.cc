#include "tutti/models/science/climate/random_field.h"

namespace tutti::models::climate {
namespace {

constexpr double kEarthKm = 360 * kDegreeKm;  // circumference at the equator

struct Wave {
  float cosine = 0, sine = 0;
};

}  // namespace

// Sums waves first along the columns for each wave number of the rows, then along the rows. Both directions have the
// period of the whole circle; rows use half of it, so the poles are not connected.
Plane random_field(const Grid& grid, double length_km, Random& random) {
  const int most = std::min(grid.rows, grid.columns) / 3;
  const auto columns = static_cast<std::size_t>(grid.columns);
  std::vector<Wave> turns(columns);  // e^(i longitude)
  for (std::size_t c = 0; c < columns; ++c) {
    const double angle = grid.longitude(static_cast<int>(c)) * kDegree;
    turns[c] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  Plane out(grid.size());
  std::vector<float> real(columns), imaginary(columns);
  double power = 0;
  for (int ky = -most; ky <= most; ++ky) {
    std::fill(real.begin(), real.end(), 0.f);
    std::fill(imaginary.begin(), imaginary.end(), 0.f);
    std::vector<Wave> phase(columns, {1, 0});  // e^(i kx longitude)
    for (int kx = 0; kx <= most; ++kx) {
      const double k = 2 * std::numbers::pi / kEarthKm * std::hypot(kx, ky);
      const double one = std::pow(k * k + 1 / (length_km * length_km), -1.5);
      const auto a = static_cast<float>(std::sqrt(one) * random.gaussian()),
                 b = static_cast<float>(std::sqrt(one) * random.gaussian());
      power += one;
      for (std::size_t c = 0; c < columns; ++c) {
        Wave& t = phase[c];
        real[c] += a * t.cosine - b * t.sine;
        imaginary[c] += a * t.sine + b * t.cosine;
        t = {t.cosine * turns[c].cosine - t.sine * turns[c].sine,
             t.cosine * turns[c].sine + t.sine * turns[c].cosine};
      }
    }
    for (int row = 0; row < grid.rows; ++row) {
      const double angle = ky * grid.latitude(row) * kDegree;
      const auto cosine = static_cast<float>(std::cos(angle)),
                 sine = static_cast<float>(std::sin(angle));
      float* line = out.data() + grid.at(row, 0);
      for (std::size_t c = 0; c < columns; ++c) line[c] += cosine * real[c] - sine * imaginary[c];
    }
  }
  const auto scale = static_cast<float>(1 / std::sqrt(power));
  for (float& value : out) value *= scale;
  return out;
}

}  // namespace tutti::models::climate
