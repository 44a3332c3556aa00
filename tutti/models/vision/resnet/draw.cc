// Shapes as functions of a point: inside or not. They are sampled several times per pixel, so edges are antialiased.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tutti/models/vision/resnet/images.h"

namespace tutti::models::resnet {
namespace {

using std::numbers::pi;
using Colour = std::array<double, 3>;

struct Point {
  double x, y;
};

// Inside a regular polygon with `corners` corners at distance 1.
bool in_polygon(Point p, int corners) {
  const double step = 2 * pi / corners;
  const double angle = std::remainder(std::atan2(p.y, p.x), step);
  return std::hypot(p.x, p.y) * std::cos(std::abs(angle) - step / 2) <= std::cos(step / 2);
}

bool in_star(Point p) {
  const double step = 2 * pi / 5, angle = std::abs(std::remainder(std::atan2(p.y, p.x), step));
  const double r = std::hypot(p.x, p.y), x = r * std::cos(angle), y = r * std::sin(angle);
  const double inner = 0.42, ix = inner * std::cos(step / 2), iy = inner * std::sin(step / 2);
  return (x - 1) * iy - y * (ix - 1) <= 0;  // below the line from the tip to the inner corner
}

bool in_shape(int shape, Point p) {
  const double r = std::hypot(p.x, p.y);
  switch (shape) {
    case 0: return r <= 0.9;
    case 1: return r <= 0.95 && r >= 0.55;
    case 2: return std::max(std::abs(p.x), std::abs(p.y)) <= 0.8;
    case 3: return in_polygon(p, 3);
    case 4: return in_star(p);
    case 5:
      return (std::abs(p.x) <= 0.3 && std::abs(p.y) <= 0.95) ||
             (std::abs(p.y) <= 0.3 && std::abs(p.x) <= 0.95);
    case 6: return r <= 1 && p.x >= -0.1;
    case 7: return r <= 0.95 && std::hypot(p.x - 0.45, p.y) >= 0.75;
    case 8: return in_polygon(p, 5);
    default: return std::abs(p.x) <= 0.8 && std::abs(p.y) <= 0.8 && (p.x <= -0.2 || p.y <= -0.2);
  }
}

Colour random_colour(Random& random) {
  return {255 * random.uniform(), 255 * random.uniform(), 255 * random.uniform()};
}

// Two colours in waves of random direction and length.
class Texture {
 public:
  explicit Texture(Random& random) : first_(random_colour(random)) {
    const double contrast = 0.4 * random.uniform(), angle = 2 * pi * random.uniform();
    const Colour other = random_colour(random);
    for (std::size_t i = 0; i < 3; ++i) second_[i] = first_[i] + contrast * (other[i] - first_[i]);
    const double waves = pi * (1 + 9 * random.uniform());
    fx_ = waves * std::cos(angle);
    fy_ = waves * std::sin(angle);
    phase_ = 2 * pi * random.uniform();
    bend_ = 2 * random.uniform();
  }
  Colour mean() const {
    return {(first_[0] + second_[0]) / 2, (first_[1] + second_[1]) / 2,
            (first_[2] + second_[2]) / 2};
  }
  Colour at(Point p) const {
    const double wave =
        0.5 + 0.5 * std::sin(fx_ * p.x + fy_ * p.y + phase_ + bend_ * std::sin(3 * (p.x - p.y)));
    Colour colour;
    for (std::size_t i = 0; i < 3; ++i) colour[i] = first_[i] + wave * (second_[i] - first_[i]);
    return colour;
  }

 private:
  Colour first_, second_{};
  double fx_, fy_, phase_, bend_;
};

double brightness(const Colour& colour) {
  return (colour[0] + colour[1] + colour[2]) / 3;
}

// Position of the shape, and the bar that hides a part of it.
struct Scene {
  Scene(int which, Random& random)
      : shape(which), centre{0.25 * (2 * random.uniform() - 1), 0.25 * (2 * random.uniform() - 1)} {
    const double angle = 2 * pi * random.uniform(), size = 0.5 + 0.3 * random.uniform(),
                 squeeze = std::exp(0.25 * (2 * random.uniform() - 1));
    xx = std::cos(angle) / (size * squeeze);
    xy = std::sin(angle) / (size * squeeze);
    yx = -std::sin(angle) / (size / squeeze);
    yy = std::cos(angle) / (size / squeeze);
    bar_angle = pi * random.uniform();
    bar_at = 1.2 * (2 * random.uniform() - 1);
    bar_half = 0.03 + 0.07 * random.uniform();
  }
  bool is_hidden(Point p) const {
    return std::abs(p.x * std::cos(bar_angle) + p.y * std::sin(bar_angle) - bar_at) < bar_half;
  }
  bool is_inside(Point p) const {
    const double x = p.x - centre.x, y = p.y - centre.y;
    return in_shape(shape, {xx * x + xy * y, yx * x + yy * y});
  }
  int shape;
  Point centre;
  double xx, xy, yx, yy, bar_angle, bar_at, bar_half;
};

constexpr int kSamples = 2;  // per pixel and direction
constexpr double kLeastContrast = 50;

}  // namespace

const std::array<const char*, kShapes>& shape_names() {
  static const std::array<const char*, kShapes> names = {
      "disc",  "ring",      "square",   "triangle", "star",
      "cross", "half disc", "crescent", "pentagon", "corner"};
  return names;
}

Image draw_image(int shape, int side, Random& random) {
  const Scene scene(shape, random);
  Texture ground(random), body(random);
  while (brightness(body.mean()) - brightness(ground.mean()) < kLeastContrast) {
    ground = Texture(random);
    body = Texture(random);
  }
  const Colour bar = random_colour(random);
  const double noise = 4 + 12 * random.uniform();
  std::vector<std::uint8_t> image(std::size_t{3} * side * side);
  for (int row = 0; row < side; ++row)
    for (int column = 0; column < side; ++column) {
      Colour sum{};
      for (int i = 0; i < kSamples * kSamples; ++i) {
        const Point p{2 * (column + (i % kSamples + 0.5) / kSamples) / side - 1,
                      2 * (row + (i / kSamples + 0.5) / kSamples) / side - 1};
        const Colour c = scene.is_hidden(p) ? bar : scene.is_inside(p) ? body.at(p) : ground.at(p);
        for (std::size_t k = 0; k < 3; ++k) sum[k] += c[k] / (kSamples * kSamples);
      }
      for (std::size_t k = 0; k < 3; ++k)
        image[(k * side + row) * side + column] = static_cast<std::uint8_t>(
            std::clamp(std::lround(sum[k] + noise * random.gaussian()), 0L, 255L));
    }
  return image;
}

}  // namespace tutti::models::resnet
