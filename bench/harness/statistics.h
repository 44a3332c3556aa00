// What is said about repeated measurements of one thing.
#pragma once

#include <span>
#include <vector>

namespace tutti::bench {

// The median, and as spread the quartiles: half of all samples lie between `low` and `high`.
struct Summary {
  double median = 0, low = 0, high = 0;
  int samples = 0;
};

// Value below which the share `q` (0..1) of the samples lies, interpolated between neighbours.
// Throws ConfigError when there are no samples.
double quantile(std::span<const double> samples, double q);

Summary summarise(std::span<const double> samples);

// Element-wise maximum of rows of equal length: per batch the slowest rank. Throws ConfigError on
// unequal lengths.
std::vector<double> slowest(std::span<const std::vector<double>> rows);

}  // namespace tutti::bench
