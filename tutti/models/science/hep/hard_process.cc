#include "tutti/models/science/hep/hard_process.h"

#include <array>
#include <map>
#include <numbers>

#include "tutti/models/science/hep/shower.h"

namespace tutti::models::hep {
namespace {

using std::numbers::pi;
constexpr double kBeamEnergy = 13000;  // GeV, both protons

constexpr std::array<Slice, 5> kSlices = {{{4, 400, 800, 1.997e-6},
                                           {5, 800, 1300, 4.138e-8},
                                           {6, 1300, 1800, 1.565e-9},
                                           {7, 1800, 2500, 1.173e-10},
                                           {8, 2500, 3200, 4.269e-12}}};

// A uniformly distributed random rotation, as three columns.
struct Rotation {
  explicit Rotation(Random& random) {
    double q[4], norm = 0;  // a random unit quaternion
    for (double& c : q) {
      c = random.gaussian();
      norm += c * c;
    }
    norm = std::sqrt(norm);
    const double w = q[0] / norm, i = q[1] / norm, j = q[2] / norm, k = q[3] / norm;
    m = {{{1 - 2 * (j * j + k * k), 2 * (i * j - w * k), 2 * (i * k + w * j)},
          {2 * (i * j + w * k), 1 - 2 * (i * i + k * k), 2 * (j * k - w * i)},
          {2 * (i * k - w * j), 2 * (j * k + w * i), 1 - 2 * (i * i + j * j)}}};
  }
  FourVector operator()(const FourVector& v) const {
    return {m[0][0] * v.x + m[0][1] * v.y + m[0][2] * v.z,
            m[1][0] * v.x + m[1][1] * v.y + m[1][2] * v.z,
            m[2][0] * v.x + m[2][1] * v.y + m[2][2] * v.z, v.e};
  }
  std::array<std::array<double, 3>, 3> m;
};

double gamma_of_shape_two(double scale, Random& random) {
  return -scale * std::log((1 - random.uniform()) * (1 - random.uniform()));
}

int poisson(double mean, Random& random) {
  const double limit = std::exp(-mean);
  int count = 0;
  for (double product = random.uniform(); product > limit; product *= random.uniform()) ++count;
  return count;
}

// Initial-state radiation as soft gluons: 2 alpha_s C / pi per unit of rapidity and of the logarithm of the transverse
// momentum, up to half the hard scale, with C the mean colour factor of the two partons. A harder gluon requires
// partons with more momentum, which are rarer: their number falls with the fourth power of the squared total mass. Each
// gluon is a separate system.
void add_initial_radiation(HardEvent& event, double colour, Random& random) {
  constexpr double kLowest = 20, kLargestRapidity = 2.5, kLargestCoupling = 0.2, kFall = 4;
  FourVector emitted;
  for (const System& system : event.systems)
    for (const Parton& parton : system) emitted = emitted + parton.momentum;
  const double mass = emitted.mass(), range = std::log(event.scale / 2 / kLowest);
  const int count =
      poisson(2 * kLargestCoupling * colour / pi * range * 2 * kLargestRapidity, random);
  for (int i = 0; i < count; ++i) {
    const double pt = kLowest * std::exp(range * random.uniform());
    const double rapidity = kLargestRapidity * (2 * random.uniform() - 1);
    const double share = strong_coupling(pt * pt) / kLargestCoupling *
                         std::pow(1 + 2 * pt * std::cosh(rapidity) / mass, -kFall);
    const double phi = 2 * pi * random.uniform();
    if (random.uniform() < share)
      event.systems.push_back({{from_pt_eta_phi(pt, rapidity, phi), true}});
  }
}

// Physical spectrum of jets, up to a factor.
double natural_spectrum(double pt) {
  return std::pow(pt, -5.5) * std::pow(1 - 2 * pt / kBeamEnergy, 8);
}

// Exponent of the generated spectrum: flatter than the physical one, so the relevant hard events are not rare.
constexpr double kGeneratedPower = 1.5;
double our_pt(const Slice& slice, Random& random) {
  const double a = std::pow(slice.low, 1 - kGeneratedPower),
               b = std::pow(slice.high, 1 - kGeneratedPower);
  return std::pow(a + (b - a) * random.uniform(), 1 / (1 - kGeneratedPower));
}

double mean_weight(const Slice& slice) {  // by integration, so that weights have mean 1
  constexpr int kPoints = 2000;
  double sum = 0;
  const double a = std::pow(slice.low, 1 - kGeneratedPower),
               b = std::pow(slice.high, 1 - kGeneratedPower);
  for (int i = 0; i < kPoints; ++i) {
    const double pt = std::pow(a + (b - a) * (i + 0.5) / kPoints, 1 / (1 - kGeneratedPower));
    sum += natural_spectrum(pt) * std::pow(pt, kGeneratedPower);
  }
  return sum / kPoints;
}

double gluon_share(double pt) {  // of the outgoing partons; decreases with pt
  return std::clamp(0.8 - 0.5 * (pt - 400) / 1600, 0.3, 0.8);
}

System decay_chain(const FourVector& gluino, Random& random) {
  System quarks;
  const std::vector<FourVector> first = three_body_decay(kGluinoMass, kNeutralinoMass, random);
  for (int i = 0; i < 2; ++i) quarks.push_back({boosted(first[i], gluino), false});
  const FourVector neutralino = boosted(first[2], gluino);
  for (const FourVector& quark : three_body_decay(kNeutralinoMass, 0, random))
    quarks.push_back({boosted(quark, neutralino), false});
  return quarks;
}

}  // namespace

std::span<const Slice> slices() {
  return kSlices;
}

std::vector<FourVector> three_body_decay(double mass, double mass3, Random& random) {
  const double m = mass * mass, m3 = mass3 * mass3;
  double m12, m23, m13;
  do {  // inside the limits of the Dalitz plane
    m12 = (mass - mass3) * (mass - mass3) * random.uniform();
    m23 = m3 + (m - m3) * random.uniform();
    m13 = m + m3 - m12 - m23;
  } while (m13 < m3 || m13 * m23 < m * m3);
  const double e1 = (m - m23) / (2 * mass), e2 = (m - m13) / (2 * mass);
  const double cosine = std::clamp(1 - m12 / (2 * e1 * e2), -1.0, 1.0);
  const double sine = std::sqrt(1 - cosine * cosine);
  const FourVector first{0, 0, e1, e1}, second{e2 * sine, 0, e2 * cosine, e2};
  const FourVector third{-second.x, 0, -e1 - second.z, mass - e1 - e2};
  const Rotation turn(random);
  return {turn(first), turn(second), turn(third)};
}

HardEvent make_signal(Random& random) {
  HardEvent event;
  event.scale = kGluinoMass;
  const double pt = gamma_of_shape_two(0.2 * kGluinoMass, random), phi = 2 * pi * random.uniform();
  for (int side = 0; side < 2; ++side) {
    const double angle = phi + side * pi, rapidity = 0.6 * random.gaussian();
    const double transverse_mass = std::hypot(kGluinoMass, pt);
    const FourVector gluino{pt * std::cos(angle), pt * std::sin(angle),
                            transverse_mass * std::sinh(rapidity),
                            transverse_mass * std::cosh(rapidity)};
    event.systems.push_back(decay_chain(gluino, random));
  }
  add_initial_radiation(event, kGluonColour, random);
  return event;
}

HardEvent make_background(const Slice& slice, Random& random) {
  HardEvent event;
  const double pt = our_pt(slice, random), phi = 2 * pi * random.uniform();
  event.scale = pt;
  static const std::map<int, double> means = [] {
    std::map<int, double> all;
    for (const Slice& each : kSlices) all[each.number] = mean_weight(each);
    return all;
  }();
  event.weight = natural_spectrum(pt) * std::pow(pt, kGeneratedPower) / means.at(slice.number);
  const double common = 0.6 * random.gaussian(), half = 2.4 * random.uniform() - 1.2;
  System pair;
  for (int side = 0; side < 2; ++side)
    pair.push_back({from_pt_eta_phi(pt, common + (side == 0 ? half : -half), phi + side * pi),
                    random.uniform() < gluon_share(pt)});
  event.systems.push_back(std::move(pair));
  add_initial_radiation(event, (kGluonColour + kQuarkColour) / 2, random);  // mostly one of each
  return event;
}

}  // namespace tutti::models::hep
