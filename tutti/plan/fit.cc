#include "tutti/plan/fit.h"

#include <algorithm>

#include "tutti/plan/cost.h"

namespace tutti::plan {
namespace {

// Bounds of the fitted factors: wide enough for any network, and noise cannot drive a link to zero or infinity.
constexpr double kMostChange = 1e4;
constexpr int kTurns = 60;

struct Fit {
  double latency = 1, seconds_per_byte = 1;  // factors applied to the links
};

topo::Grid scaled(topo::Grid grid, const Fit& fit) {
  const bool is_one_host = grid.hosts.size() == 1;
  for (topo::Dimension& dimension : grid.dimensions) {
    if (dimension.mapped != is_one_host) continue;
    dimension.link.latency *= fit.latency;
    dimension.link.seconds_per_byte *= fit.seconds_per_byte;
  }
  return grid;
}

// Measured time divided by predicted time.
double ratio(const topo::Grid& grid, const Measurement& measurement) {
  const Request request{.collective = measurement.collective,
                        .count = std::max<std::int64_t>(1, measurement.bytes / 4)};
  const double predicted = predict(grid, request, measurement.choice);
  return predicted > 0 ? measurement.choice.seconds / predicted : 1;
}

}  // namespace

topo::Grid fit_links(topo::Grid grid, std::span<const Measurement> measured) {
  if (measured.empty()) return grid;
  const auto [smallest, largest] =
      std::minmax_element(measured.begin(), measured.end(), [](const auto& a, const auto& b) {
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.choice.seconds < b.choice.seconds;
      });
  const Measurement* best_large = &*largest;
  for (const Measurement& m : measured) {
    if (m.bytes == largest->bytes && m.choice.seconds < best_large->choice.seconds) best_large = &m;
  }
  // The smallest size determines the latency factor and the largest size the bandwidth factor. The two interact, so the
  // loop alternates between them for a fixed number of rounds.
  Fit fit;
  const auto bounded = [](double factor) {
    return std::clamp(factor, 1 / kMostChange, kMostChange);
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    fit.latency = bounded(fit.latency * ratio(scaled(grid, fit), *smallest));
    fit.seconds_per_byte = bounded(fit.seconds_per_byte * ratio(scaled(grid, fit), *best_large));
  }
  return scaled(std::move(grid), fit);
}

}  // namespace tutti::plan
