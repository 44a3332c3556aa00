// Statistics of repeated measurements.
#pragma once

#include <span>
#include <vector>

namespace tutti::bench {

// Median and quartiles: half of all samples are between `low` and `high`.
struct Summary {
  double median = 0, low = 0, high = 0;
  int samples = 0;
};

// Quantile `q` (0..1) of the samples, interpolated linearly. Throws ConfigError if there are no samples.
double quantile(std::span<const double> samples, double q);

Summary summarise(std::span<const double> samples);

// Element-wise maximum of rows of equal length: per batch the slowest rank. Throws ConfigError on unequal lengths.
std::vector<double> slowest(std::span<const std::vector<double>> rows);

}  // namespace tutti::bench
