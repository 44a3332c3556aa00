#include "tutti/models/science/hep/detector.h"

#include <cstdint>
#include <numbers>
#include <unordered_map>

namespace tutti::models::hep {
namespace {

using std::numbers::pi;
constexpr double kEtaEnd = 2.5, kPhiEnd = 3.15;
constexpr double kChargedShare = 0.62, kPhotonShare = 0.28;

// A direction with transverse momenta of 0.35 GeV.
FourVector kicked(const FourVector& direction, double energy, Random& random) {
  constexpr double kKick = 0.35;
  const double p = std::max(direction.p(), 1e-12),
               n[3] = {direction.x / p, direction.y / p, direction.z / p};
  const double g[3] = {kKick * random.gaussian(), kKick * random.gaussian(),
                       kKick * random.gaussian()};
  const double along = g[0] * n[0] + g[1] * n[1] + g[2] * n[2];
  double v[3], length = 0;
  for (int i = 0; i < 3; ++i) {
    v[i] = energy * n[i] + g[i] - along * n[i];
    length += v[i] * v[i];
  }
  const double scale = energy / std::sqrt(length);
  return {v[0] * scale, v[1] * scale, v[2] * scale, energy};
}

Particle::Kind kind_of(double u) {
  if (u < kChargedShare) return Particle::Kind::kCharged;
  return u < kChargedShare + kPhotonShare ? Particle::Kind::kPhoton : Particle::Kind::kNeutral;
}

// One of the two calorimeters: cells in eta and phi, resolution a E + b sqrt(E) + c, threshold.
struct Calorimeter {
  double cell_eta, cell_phi;
  double threshold;
  bool is_electromagnetic;

  double width(double eta, double e) const {
    if (is_electromagnetic) return std::sqrt(0.0017 * 0.0017 * e * e + 0.101 * 0.101 * e);
    if (std::abs(eta) < 1.7)
      return std::sqrt(0.0302 * 0.0302 * e * e + 0.5205 * 0.5205 * e + 1.59 * 1.59);
    return std::sqrt(0.05 * 0.05 * e * e + 0.706 * 0.706 * e);
  }
};
constexpr Calorimeter kElectromagnetic = {0.0174, pi / 180, 0.5, true};
constexpr Calorimeter kHadronic = {0.1, pi / 18, 1.0, false};

using Cells = std::unordered_map<std::uint64_t, double>;  // energy by cell number

void deposit(const Calorimeter& calorimeter, double eta, double phi, double energy, Cells& cells) {
  const auto i =
      static_cast<std::uint32_t>(static_cast<std::int32_t>(std::floor(eta / calorimeter.cell_eta)));
  const auto j =
      static_cast<std::uint32_t>(static_cast<std::int32_t>(std::floor(phi / calorimeter.cell_phi)));
  cells[(std::uint64_t{i} << 32) | j] += energy;
}

void read_out(const Calorimeter& calorimeter, const Cells& cells, std::vector<Tower>& towers,
              Random& random) {
  // In the order of the cells: the order of the hash table depends on the library.
  std::vector<std::pair<std::uint64_t, double>> sorted(cells.begin(), cells.end());
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [cell, energy] : sorted) {
    const auto i = static_cast<std::int32_t>(static_cast<std::uint32_t>(cell >> 32));
    const auto j = static_cast<std::int32_t>(static_cast<std::uint32_t>(cell));
    const double eta = (i + random.uniform()) * calorimeter.cell_eta;
    const double width = calorimeter.width(eta, energy);
    const double measured = energy + width * random.gaussian();
    const double phi = (j + random.uniform()) * calorimeter.cell_phi;
    if (measured > calorimeter.threshold && measured > 2 * calorimeter.width(eta, measured))
      towers.push_back({eta, phi, measured, calorimeter.is_electromagnetic});
  }
}

double track_efficiency(double pt, double eta) {
  const bool is_central = std::abs(eta) < 1.5;
  if (pt > 1) return is_central ? 0.95 : 0.85;
  return pt > 0.1 ? (is_central ? 0.70 : 0.60) : 0;
}

}  // namespace

// Each hadron takes a fraction z of the remaining energy, with density (1 - z) / z. Together with the cutoff this gives
// 20.7 charged hadrons and a mean of 0.065 for one minus the thrust in decays of Z bosons; measured values are 20.8 and
// 0.068.
void hadronise(const FourVector& parton, std::vector<Particle>& out, Random& random) {
  constexpr double kLeast = 1;  // GeV
  double rest = parton.e;
  while (rest > 2 * kLeast) {
    const double lowest = kLeast / rest;
    double z;
    do z = std::pow(lowest, random.uniform());
    while (random.uniform() > 1 - z);
    out.push_back({kicked(parton, z * rest, random), kind_of(random.uniform())});
    rest -= z * rest;
  }
  if (rest > 0) out.push_back({kicked(parton, rest, random), kind_of(random.uniform())});
}

Readout detect(std::span<const Particle> particles, Random& random) {
  constexpr double kCaloEnd = 3.2;
  Readout readout;
  Cells electromagnetic, hadronic;
  for (const Particle& particle : particles) {
    const double eta = particle.momentum.eta(), phi = particle.momentum.phi();
    if (std::abs(eta) > kCaloEnd) continue;
    const bool is_photon = particle.kind == Particle::Kind::kPhoton;
    deposit(is_photon ? kElectromagnetic : kHadronic, eta, phi, particle.momentum.e,
            is_photon ? electromagnetic : hadronic);
    if (particle.kind == Particle::Kind::kCharged && std::abs(eta) < kEtaEnd &&
        random.uniform() < track_efficiency(particle.momentum.pt(), eta))
      readout.tracks.push_back(particle.momentum);
  }
  read_out(kElectromagnetic, electromagnetic, readout.towers, random);
  read_out(kHadronic, hadronic, readout.towers, random);
  return readout;
}

std::vector<float> detector_image(const Readout& readout, int size) {
  const auto pixels = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  std::vector<float> image(3 * pixels);
  auto bin_of = [&](double eta, double phi) -> std::int64_t {
    const double angle = std::remainder(phi, 2 * pi);
    const auto row = static_cast<std::int64_t>(std::floor((eta + kEtaEnd) / (2 * kEtaEnd) * size));
    const auto column =
        static_cast<std::int64_t>(std::floor((angle + kPhiEnd) / (2 * kPhiEnd) * size));
    return row < 0 || row >= size ? -1 : row * size + column;
  };
  for (const Tower& tower : readout.towers) {
    const std::int64_t bin = bin_of(tower.eta, tower.phi);
    if (bin < 0) continue;
    const auto at = static_cast<std::size_t>(bin);
    image[at] += static_cast<float>(tower.energy);
    if (tower.is_electromagnetic) image[pixels + at] += static_cast<float>(tower.energy);
  }
  for (const FourVector& track : readout.tracks)
    if (const std::int64_t bin = bin_of(track.eta(), track.phi()); bin >= 0)
      image[2 * pixels + static_cast<std::size_t>(bin)] += 1;
  return image;
}

}  // namespace tutti::models::hep
