#include "bench/harness/statistics.h"

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"

namespace tutti::bench {

double quantile(std::span<const double> samples, double q) {
  if (samples.empty()) throw ConfigError("DDL-8-01", "No samples: nothing was measured.");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<std::size_t>(std::floor(position));
  std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

Summary summarise(std::span<const double> samples) {
  return {quantile(samples, 0.5), quantile(samples, 0.25), quantile(samples, 0.75),
          static_cast<int>(samples.size())};
}

std::vector<double> slowest(std::span<const std::vector<double>> rows) {
  if (rows.empty()) return {};
  std::vector<double> result = rows.front();
  for (const auto& row : rows) {
    if (row.size() != result.size())
      throw ConfigError("DDL-8-02", "Ranks measured different numbers of batches.");
    for (std::size_t i = 0; i < row.size(); ++i) result[i] = std::max(result[i], row[i]);
  }
  return result;
}

}  // namespace tutti::bench
