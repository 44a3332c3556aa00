#include "bench/tree/decays.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tutti/core/random.h"

namespace tutti::bench {
namespace {

// Random numbers of one row.
class RowRandom {
 public:
  RowRandom(std::uint64_t seed, std::uint64_t row)
      : state_(seed * kSplitMixIncrement + row * 0xd1b54a32d192ed03ull) {}
  double unit() { return unit_interval(split_mix_output(state_ += kSplitMixIncrement)); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }
  double log_normal(double mean, double sigma) {
    return std::exp(std::log(mean) + sigma * normal());
  }

 private:
  std::uint64_t state_;
};

struct Particle {
  double pt = 0, eta = 0, phi = 0;
};

struct Momentum {
  double energy = 0, x = 0, y = 0, z = 0;
};

Momentum operator+(Momentum a, Momentum b) {
  return {a.energy + b.energy, a.x + b.x, a.y + b.y, a.z + b.z};
}

Momentum momentum(const Particle& p) {
  return {p.pt * std::cosh(p.eta), p.pt * std::cos(p.phi), p.pt * std::sin(p.phi),
          p.pt * std::sinh(p.eta)};
}

double mass(const Momentum& m) {
  return std::sqrt(std::max(0.0, m.energy * m.energy - m.x * m.x - m.y * m.y - m.z * m.z));
}

Particle draw(RowRandom& random, double pt) {
  return {random.log_normal(pt, 0.55), std::clamp(random.normal(), -2.5, 2.5),
          (2 * random.unit() - 1) * std::numbers::pi};
}

// Scales two particles until their combined mass is about `wanted`.
void tie(Particle& a, Particle& b, double wanted) {
  const double factor =
      std::clamp(wanted / std::max(1e-3, mass(momentum(a) + momentum(b))), 0.3, 3.0);
  a.pt *= factor;
  b.pt *= factor;
}

// The tag of a jet has three values: none, weak, strong.
float tag(RowRandom& random, double probability) {
  const double x = random.unit();
  return x < probability * 0.6 ? 2.2F : x < probability ? 1.1F : 0.0F;
}

void make_row(RowRandom& random, bool is_signal, float* out) {
  Particle lepton = draw(random, 50), missing = draw(random, 45);
  missing.eta = 0;
  Particle jets[4] = {draw(random, 80), draw(random, 60), draw(random, 50), draw(random, 40)};
  // Signal: three particles of known mass decayed to a lepton and missing energy, two jets, and the other two.
  // Background: the same with random masses, so no single mass is decisive.
  const double spread = is_signal ? 0.12 : 0.5;
  tie(lepton, missing, random.log_normal(80, spread));
  tie(jets[2], jets[3], random.log_normal(80, spread));
  tie(jets[0], jets[1], random.log_normal(125, spread));
  if (is_signal) lepton.pt *= 1.45, missing.pt *= 0.72;
  float* at = out;
  for (const double value : {lepton.pt / 50, lepton.eta, lepton.phi, missing.pt / 45, missing.phi})
    *at++ = static_cast<float>(value);
  for (int j = 0; j < 4; ++j) {
    for (const double value :
         {jets[j].pt * (1 + 0.1 * random.normal()) / 60, jets[j].eta, jets[j].phi})
      *at++ = static_cast<float>(value);
    *at++ = tag(random, (j < 2 ? 0.6 : 0.25) + (is_signal ? 0.05 : 0.0));
  }
  const Momentum l = momentum(lepton), m = momentum(missing);
  const Momentum j0 = momentum(jets[0]), j1 = momentum(jets[1]), j2 = momentum(jets[2]),
                 j3 = momentum(jets[3]);
  const Momentum groups[] = {j2 + j3,
                             j1 + j2 + j3,
                             l + m,
                             j1 + l + m,
                             j0 + j1,
                             l + m + j0 + j1,
                             l + m + j0 + j1 + j2 + j3};
  const double usual[] = {80, 170, 80, 170, 125, 300, 450};
  for (int i = 0; i < 7; ++i)
    *at++ = static_cast<float>(mass(groups[i]) * (1 + 0.25 * random.normal()) / usual[i]);
}

}  // namespace

Decays make_decays(std::int64_t rows, std::uint64_t seed) {
  Decays made;
  made.rows = rows;
  made.values.resize(static_cast<std::size_t>(rows) * Decays::kColumns);
  made.labels.resize(rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    RowRandom random(seed, static_cast<std::uint64_t>(row));
    const bool is_signal = random.unit() < 0.53;
    make_row(random, is_signal, made.values.data() + row * Decays::kColumns);
    // A fraction of the collisions has a random class.
    const bool is_mistaken = random.unit() < 0.07;
    made.labels[row] = is_signal != is_mistaken ? 1 : 0;
  }
  return made;
}

}  // namespace tutti::bench
