#include "tutti/models/science/climate/weather.h"

#include "tutti/models/science/climate/random_field.h"
#include "tutti/models/science/climate/storms.h"

namespace tutti::models::climate {
namespace {

constexpr double kGravity = 9.81, kGas = 287, kDensity = 1.2;

double bell(double x) {
  return std::exp(-x * x);
}

// Builds the background state: temperature, pressure, moisture, land.
class World {
 public:
  World(Frame& frame, Random& random) : frame_(frame), grid_(frame.grid), random_(random) {
    season_ = std::sin(between(0, 2 * std::numbers::pi, random));
    height_ = field(2000, 1);
    Plane sorted = height_;
    const auto seventh = sorted.begin() + static_cast<std::ptrdiff_t>(0.7 * double(sorted.size()));
    std::nth_element(sorted.begin(), seventh, sorted.end());
    for (float& h : height_) h = 1500 * std::clamp(h - *seventh, 0.f, 2.f);  // metres above the sea
  }

  void temperatures() {
    const Plane surface = field(1500, 2), low = field(500, 0.5), middle = field(2000, 1.5),
                high = field(2500, 1.5);
    each([&](std::size_t i, double latitude) {
      const double s = std::pow(std::sin((latitude - 4 * season_) * kDegree), 2);
      const double twice = std::pow(std::sin(2 * (latitude - 4 * season_) * kDegree), 2);
      f()[kTS][i] = float(300.5 - 30 * s - 28 * s * s * s - 0.0065 * height_[i] + surface[i]);
      f()[kTREFHT][i] = f()[kTS][i] - 1 + low[i];
      f()[kT500][i] = float(268 - 30 * s + middle[i]);
      f()[kT200][i] = float(219 + 3 * twice + high[i]);
    });
  }

  void pressure() {
    const Plane noise = field(1200, 1);
    each([&](std::size_t i, double latitude) {
      const double a = std::abs(latitude), s = std::sin(latitude * kDegree);
      f()[kPSL][i] = float(101325 + 900 * bell((a - 32) / 10) - 1200 * bell((a - 60) / 10) -
                           200 * bell(latitude / 8) + (100 + 700 * s * s) * noise[i]);
    });
  }

  void moisture() {
    const Plane noise = field(800, 1), rain = field(800, 1);
    each([&](std::size_t i, double latitude) {
      f()[kTMQ][i] =
          float((50 * bell((latitude - 4 * season_) / 24) + 4) * std::exp(0.2 * noise[i]));
      const double g = 0.5 * noise[i] + std::sqrt(0.75) * rain[i];
      f()[kPRECT][i] = float(3.5e-8 * std::pow(f()[kTMQ][i] / 25, 2) * std::exp(1.2 * g - 0.72));
    });
  }

  // Geostrophic winds along the isobars, plus jets; slower and turned near the ground.
  void winds() {
    const Plane& p = f()[kPSL];
    const double turn = 20 * kDegree;
    for (int row = 0; row < grid_.rows; ++row) {
      const double latitude = grid_.latitude(row), f0 = coriolis_at(latitude);
      const int up = std::min(row + 1, grid_.rows - 1), down = std::max(row - 1, 0);
      const double dy = 1e3 * (up - down) * grid_.cell_km();
      const double dx =
          2e3 * kDegreeKm * grid_.column_step() * std::max(0.05, std::cos(latitude * kDegree));
      for (int column = 0; column < grid_.columns; ++column) {
        const std::size_t i = grid_.at(row, column);
        double u = -(p[grid_.at(up, column)] - p[grid_.at(down, column)]) / (kDensity * f0 * dy);
        double v = (p[grid_.at(row, grid_.column(column + 1))] -
                    p[grid_.at(row, grid_.column(column - 1))]) /
                   (kDensity * f0 * dx);
        const double slow = std::min(1.0, 40 / std::max(1e-9, std::hypot(u, v)));
        u = 1.1 * slow * u - 6 * bell(latitude / 15) + 10 * bell((std::abs(latitude) - 45) / 12);
        v = 1.1 * slow * v;
        const double side = latitude > 0 ? turn : -turn;  // towards low pressure
        f()[kU850][i] = float(u);
        f()[kV850][i] = float(v);
        f()[kUBOT][i] = float(0.7 * (u * std::cos(side) - v * std::sin(side)));
        f()[kVBOT][i] = float(0.7 * (u * std::sin(side) + v * std::cos(side)));
      }
    }
  }

  // Remaining fields, derived from temperature and pressure; near-surface moisture includes that of storms.
  void rest() {
    const Plane humidity = field(800, 0.06);
    each([&](std::size_t i, double) {
      const double t = f()[kTREFHT][i], h = height_[i];
      f()[kTMQ][i] = std::min(f()[kTMQ][i], 75.f);
      f()[kPS][i] = float(f()[kPSL][i] * std::exp(-kGravity * h / (kGas * (t + 0.00325 * h))));
      const double saturation = 611.2 * std::exp(17.67 * (t - 273.15) / (t - 29.65));
      const double full = 0.622 * saturation / (f()[kPS][i] - 0.378 * saturation);
      f()[kQREFHT][i] = float(std::min((0.8 + humidity[i]) * full + f()[kQREFHT][i], 0.98 * full));
      f()[kZ1000][i] = float((f()[kPSL][i] - 1e5) / (kDensity * kGravity));
      const double mean = 0.25 * f()[kTS][i] + 0.5 * f()[kT500][i] + 0.25 * f()[kT200][i];
      f()[kZ200][i] = float(f()[kZ1000][i] + kGas / kGravity * std::log(5.0) * mean);
      f()[kZBOT][i] = float(kGas * t / kGravity * 0.0075);
    });
  }

 private:
  std::array<Plane, kFields>& f() { return frame_.fields; }
  Plane field(double length_km, double deviation) {
    Plane plane = random_field(grid_, length_km, random_);
    for (float& value : plane) value *= float(deviation);
    return plane;
  }
  template <class Visit>
  void each(Visit visit) {
    for (int row = 0; row < grid_.rows; ++row)
      for (int column = 0; column < grid_.columns; ++column)
        visit(grid_.at(row, column), grid_.latitude(row));
  }

  Frame& frame_;
  const Grid& grid_;
  Random& random_;
  double season_;
  Plane height_;
};

}  // namespace

double great_circle_km(const Position& a, const Position& b) {
  const double p = a.latitude * kDegree, q = b.latitude * kDegree;
  const double across = std::sin((b.longitude - a.longitude) * kDegree / 2),
               along = std::sin((q - p) / 2);
  const double h = along * along + std::cos(p) * std::cos(q) * across * across;
  return 2 * kDegreeKm / kDegree * std::asin(std::sqrt(std::min(1.0, h)));
}

const std::array<const char*, kFields>& field_names() {
  static const std::array<const char*, kFields> names = {
      "TMQ",  "U850", "V850",  "UBOT", "VBOT",   "QREFHT", "PS",   "PSL",
      "T200", "T500", "PRECT", "TS",   "TREFHT", "Z1000",  "Z200", "ZBOT"};
  return names;
}

const std::array<const char*, kStormKinds>& storm_names() {
  static const std::array<const char*, kStormKinds> names = {
      "tropical depression", "tropical cyclone", "extratropical cyclone", "atmospheric river"};
  return names;
}

int poisson(double mean, Random& random) {
  int count = 0;
  for (double left = std::exp(-mean), p = random.uniform(); p > left; p *= random.uniform())
    ++count;
  return count;
}

// Lows are added before the winds around them are derived; vortices add their own winds.
Frame make_frame(const Grid& grid, const WeatherSettings& settings, Random& random) {
  Frame frame{grid, {}, {}, std::vector<std::uint8_t>(grid.size())};
  for (Plane& plane : frame.fields) plane.assign(grid.size(), 0.f);
  World world(frame, random);
  world.temperatures();
  world.pressure();
  world.moisture();
  std::vector<River> rivers;
  for (int i = poisson(settings.rivers, random); i > 0; --i) rivers.push_back(draw_river(random));
  for (const River& river : rivers) add_river_low(river, frame);
  for (int i = poisson(settings.extratropicals, random); i > 0; --i)
    add_extratropical(frame, random);
  world.winds();
  for (int i = poisson(settings.pools, random); i > 0; --i) add_moist_pool(frame, random);
  for (int i = poisson(settings.cyclones, random); i > 0; --i)
    add_cyclone(draw_cyclone(grid, false, random), frame);
  for (int i = poisson(settings.depressions, random); i > 0; --i)
    add_cyclone(draw_cyclone(grid, true, random), frame);
  for (const River& river : rivers) add_river(river, frame);
  world.rest();
  return frame;
}

}  // namespace tutti::models::climate
