#include "tutti/models/science/cosmoflow/universe.h"

#include <cmath>
#include <numbers>

#include "tutti/core/random.h"

namespace tutti::models::cosmoflow {
namespace {

using Complex = CubeFft::Complex;
constexpr Complex kI(0, 1);

struct Wave {
  float x, y, z;   // in units of 2 pi / box; 0 at the Nyquist frequency, whose sign is undefined
  int square = 0;  // of the true length
};

// Calls visit(index, wave) for all modes.
template <class Visit>
void each_wave(int side, Visit visit) {
  auto number = [side](int i) { return i <= side / 2 ? i : i - side; };
  auto odd = [side](int i) { return i == side / 2 ? 0.f : float(i <= side / 2 ? i : i - side); };
  std::size_t index = 0;
  for (int x = 0; x < side; ++x)
    for (int y = 0; y < side; ++y) {
      const int xy = number(x) * number(x) + number(y) * number(y);
      for (int z = 0; z < side; ++z, ++index)
        visit(index, Wave{odd(x), odd(y), odd(z), xy + number(z) * number(z)});
    }
}

std::size_t cube(int side) {
  return static_cast<std::size_t>(side) * static_cast<std::size_t>(side) *
         static_cast<std::size_t>(side);
}

// Second derivatives of the potential of `modes`. Two real fields are transformed as one complex field.
template <class First, class Second>
void derivatives(const CubeFft& fft, const Field& modes, Field& out, First first, Second second) {
  each_wave(fft.side(), [&](std::size_t i, const Wave& k) {
    const float inverse = k.square == 0 ? 0 : 1 / static_cast<float>(k.square);
    out[i] = modes[i] * inverse * (first(k) + kI * second(k));
  });
  fft.inverse(out);
}

// Source of the second order, as modes.
Field second_order(const CubeFft& fft, const Field& modes) {
  Field a(modes.size()), b(modes.size());
  derivatives(
      fft, modes, a, [](const Wave& k) { return k.x * k.x; },
      [](const Wave& k) { return k.y * k.y; });
  derivatives(
      fft, modes, b, [](const Wave& k) { return k.z * k.z; },
      [](const Wave& k) { return k.x * k.y; });
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float xx = a[i].real(), yy = a[i].imag(), zz = b[i].real(), xy = b[i].imag();
    b[i] = xx * yy + zz * (xx + yy) - xy * xy;
  }
  derivatives(
      fft, modes, a, [](const Wave& k) { return k.x * k.z; },
      [](const Wave& k) { return k.y * k.z; });
  for (std::size_t i = 0; i < a.size(); ++i) b[i] -= std::norm(a[i]);
  fft.forward(b);
  return b;
}

int wrapped(int i, int side) {
  return i < 0 ? i + side : i >= side ? i - side : i;
}

}  // namespace

Field linear_modes(const CubeFft& fft, const PowerSpectrum& spectrum, double box,
                   std::uint64_t seed) {
  Random random(seed);
  Field modes(cube(fft.side()));
  for (Complex& value : modes) value = static_cast<float>(random.gaussian());
  fft.forward(modes);
  // One amplitude per wave length; there are few different ones.
  std::vector<float> amplitude(static_cast<std::size_t>(3 * fft.side() * fft.side() / 4 + 1));
  const double unit = 2 * std::numbers::pi / box;
  for (std::size_t i = 0; i < amplitude.size(); ++i)
    amplitude[i] = static_cast<float>(std::sqrt(spectrum(unit * std::sqrt(double(i))) *
                                                double(modes.size()) / (box * box * box)));
  each_wave(fft.side(), [&](std::size_t i, const Wave& k) {
    modes[i] *= amplitude[static_cast<std::size_t>(k.square)];
  });
  return modes;
}

Displacement::Displacement(const CubeFft& fft, Field modes, double box)
    : fft_(fft), first_(std::move(modes)), second_(second_order(fft, first_)), box_(box) {}

std::array<std::vector<float>, 3> Displacement::at(const Growth& growth) const {
  const auto unit = static_cast<float>(2 * std::numbers::pi / box_);
  const auto d1 = static_cast<float>(growth.first), d2 = static_cast<float>(growth.second);
  std::array<std::vector<float>, 3> result;
  Field moved(first_.size());  // one field at a time, to save memory
  auto move = [&](auto along) {
    each_wave(fft_.side(), [&](std::size_t i, const Wave& k) {
      const float inverse = k.square == 0 ? 0 : 1 / (unit * static_cast<float>(k.square));
      moved[i] = kI * (d1 * first_[i] - d2 * second_[i]) * inverse * along(k);
    });
    fft_.inverse(moved);
  };
  auto keep = [&](std::vector<float>& component, auto part) {
    component.reserve(moved.size());
    for (const Complex& value : moved) component.push_back(part(value));
  };
  move([](const Wave& k) { return k.x + kI * k.y; });
  keep(result[0], [](const Complex& value) { return value.real(); });
  keep(result[1], [](const Complex& value) { return value.imag(); });
  move([](const Wave& k) { return k.z; });
  keep(result[2], [](const Complex& value) { return value.real(); });
  return result;
}

std::vector<float> density(const std::array<std::vector<float>, 3>& displacement, int particles,
                           double box, int cells, Deposit deposit) {
  std::vector<float> grid(cube(cells));
  const float pitch = static_cast<float>(cells) / static_cast<float>(particles),
              per_length = static_cast<float>(cells / box),
              weight = static_cast<float>(double(cube(cells)) / double(cube(particles)));
  const auto side = static_cast<std::size_t>(cells);
  const bool is_cloud = deposit == Deposit::kCloud;
  for (std::size_t i = 0; i < cube(particles); ++i) {
    const std::size_t n = static_cast<std::size_t>(particles);
    const std::size_t start[3] = {i / (n * n), i / n % n, i % n};
    std::size_t cell[3][2];
    float share[3][2];
    for (int axis = 0; axis < 3; ++axis) {
      // In cells; the centre of cell c is at c. Particles start at the centres of equal cubes.
      float x = (static_cast<float>(start[axis]) + 0.5f) * pitch - 0.5f +
                displacement[static_cast<std::size_t>(axis)][i] * per_length;
      x -= static_cast<float>(cells) * std::floor(x / static_cast<float>(cells));
      const float low = std::floor(is_cloud ? x : x + 0.5f);
      cell[axis][0] = static_cast<std::size_t>(wrapped(static_cast<int>(low), cells));
      cell[axis][1] = static_cast<std::size_t>(wrapped(static_cast<int>(low) + 1, cells));
      share[axis][1] = is_cloud ? x - low : 0;
      share[axis][0] = 1 - share[axis][1];
    }
    for (int corner = 0; corner < (is_cloud ? 8 : 1); ++corner) {
      const int a = corner >> 2, b = corner >> 1 & 1, c = corner & 1;
      grid[(cell[0][a] * side + cell[1][b]) * side + cell[2][c]] +=
          weight * share[0][a] * share[1][b] * share[2][c];
    }
  }
  return grid;
}

std::vector<std::vector<float>> make_universe(const Cosmology& cosmology, const UniversePlan& plan,
                                              std::uint64_t seed) {
  const CubeFft fft(plan.particles);
  const Displacement displacement(fft, linear_modes(fft, PowerSpectrum(cosmology), plan.box, seed),
                                  plan.box);
  std::vector<std::vector<float>> grids;
  for (double redshift : plan.redshifts)
    grids.push_back(density(displacement.at(growth(cosmology, redshift)), plan.particles, plan.box,
                            plan.cells, plan.deposit));
  return grids;
}

std::vector<PowerBin> measure_power(const CubeFft& fft, std::span<const Complex> modes,
                                    double box) {
  const double unit = 2 * std::numbers::pi / box, cells = double(cube(fft.side())),
               scale = box * box * box / (cells * cells);
  std::vector<PowerBin> bins(static_cast<std::size_t>(fft.side() / 2));
  each_wave(fft.side(), [&](std::size_t i, const Wave& k) {
    const double length = std::sqrt(double(k.square));
    const auto bin = static_cast<std::size_t>(length + 0.5);
    if (bin == 0 || bin >= bins.size()) return;
    bins[bin].k += unit * length;
    bins[bin].power += scale * double(std::norm(modes[i]));
    ++bins[bin].modes;
  });
  bins.erase(bins.begin());
  for (PowerBin& bin : bins) {
    bin.k /= double(bin.modes);
    bin.power /= double(bin.modes);
  }
  return bins;
}

}  // namespace tutti::models::cosmoflow
