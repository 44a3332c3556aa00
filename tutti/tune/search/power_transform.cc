#include "tutti/tune/search/power_transform.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tutti::tune {
namespace {

using Eigen::VectorXd;

constexpr double kMostPower = 2;  // powers searched: 2 - kMostPower to kMostPower
constexpr int kSearchSteps = 40;  // of the golden section
constexpr double kGolden = 0.61803398874989485;

double transformed(double x, double power) {
  if (x >= 0) return std::abs(power) < 1e-9 ? std::log1p(x) : (std::pow(1 + x, power) - 1) / power;
  const double mirrored = 2 - power;
  return std::abs(mirrored) < 1e-9 ? -std::log1p(-x) : -(std::pow(1 - x, mirrored) - 1) / mirrored;
}

VectorXd transformed(const VectorXd& values, double power) {
  return values.unaryExpr([=](double x) { return transformed(x, power); });
}

double log_likelihood(const VectorXd& values, double power) {
  const VectorXd y = transformed(values, power);
  const double variance = (y.array() - y.mean()).square().mean();
  const double jacobian =
      values.unaryExpr([](double x) { return std::copysign(std::log1p(std::abs(x)), x); }).sum();
  return -0.5 * static_cast<double>(y.size()) * std::log(variance) + (power - 1) * jacobian;
}

// The values relative to their median and interquartile range, which outliers do not change.
VectorXd robustly_scaled(const VectorXd& values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t count = sorted.size();
  const double range = sorted[3 * count / 4] - sorted[count / 4];
  if (!(range > 0)) return standardized(values);
  return (values.array() - sorted[count / 2]) / range;
}

}  // namespace

VectorXd standardized(const VectorXd& values) {
  const double mean = values.mean();
  const double deviation = std::sqrt((values.array() - mean).square().mean());
  if (!(deviation > 0)) return VectorXd::Zero(values.size());
  return (values.array() - mean) / deviation;
}

VectorXd power_transformed(const VectorXd& values) {
  const VectorXd scaled = robustly_scaled(values);
  if (scaled.isConstant(scaled[0])) return VectorXd::Zero(values.size());
  double low = 2 - kMostPower, high = kMostPower;
  for (int step = 0; step < kSearchSteps; ++step) {
    const double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    if (log_likelihood(scaled, left) < log_likelihood(scaled, right)) {
      low = left;
    } else {
      high = right;
    }
  }
  return standardized(transformed(scaled, (low + high) / 2));
}

}  // namespace tutti::tune
