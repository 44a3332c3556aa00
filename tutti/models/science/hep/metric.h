// Signal efficiency of the network compared with the selection cuts, at the same background.
#pragma once

#include <span>
#include <vector>

#include "tutti/plot/chart.h"

namespace tutti::models::hep {

struct Scored {
  float score = 0;  // of the network; larger: more like signal
  float weight = 1;
  bool is_signal = false, passes_cuts = false;
};

struct RocPoint {
  double false_rate = 0,
         true_rate = 0;  // weighted fractions of background and signal above a score
};
// From the tightest threshold to the loosest; one point per distinct score.
std::vector<RocPoint> roc(std::span<const Scored> events);
// Signal efficiency at this background efficiency, linearly interpolated.
double true_rate_at(std::span<const RocPoint> curve, double false_rate);
double area(std::span<const RocPoint> curve);

struct Verdict {
  double false_rate = 0, false_rate_error = 0;  // of the cuts
  double cuts = 0, cuts_error = 0;              // signal efficiency
  double network = 0, network_error = 0;  // signal efficiency of the network at the same false_rate
  double ratio = 0, ratio_error = 0;      // network / cuts
  double area = 0;
  double network_at_percent = 0,
         network_at_permille = 0;  // at background efficiencies 1e-2 and 1e-3
};
// Errors are one standard deviation; that of the network includes the error of the background efficiency.
Verdict compare_with_cuts(std::span<const Scored> events);

plot::Chart roc_chart(std::span<const Scored> events, const Verdict& verdict);
plot::Chart score_chart(std::span<const Scored> events);

}  // namespace tutti::models::hep
