#include <algorithm>
#include <cmath>

#include "tutti/models/science/gan3d/metric.h"

namespace tutti::models::gan3d {
namespace {

constexpr std::size_t kShares = 3 * kSide + 1, kFeatures = 2 * kShares;
using Row = std::array<double, kFeatures>;

// Energy fractions in slices and sum / energy, followed by room for their squares.
Row features(double energy, const Shape& shape) {
  Row row{};
  const double sum = std::max(1e-9, double{shape.sum});
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < kSide; ++i)
      row[axis * kSide + i] = double{shape.profiles[axis][i]} / sum;
  row[3 * kSide] = double{shape.sum} / visible(energy / 100);
  return row;
}

Row mean_of(const std::vector<Row>& rows) {
  Row mean{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kFeatures; ++i) mean[i] += row[i] / double(rows.size());
  return mean;
}

// Features in standard deviations of real showers from their mean, and the squares of these, which reveal showers that
// vary too little or too much.
class Scale {
 public:
  explicit Scale(const std::vector<Row>& truths) : mean_(mean_of(truths)) {
    for (const Row& row : truths)
      for (std::size_t i = 0; i < kShares; ++i)
        spread_[i] += (row[i] - mean_[i]) * (row[i] - mean_[i]) / double(truths.size());
    for (double& each : spread_) each = std::sqrt(each) + 1e-9;
  }
  void apply(std::vector<Row>& rows) const {
    constexpr double kMost = 10;  // limits the influence of outliers
    for (Row& row : rows)
      for (std::size_t i = 0; i < kShares; ++i) {
        row[i] = std::clamp((row[i] - mean_[i]) / spread_[i], -kMost, kMost);
        row[kShares + i] = row[i] * row[i];
      }
  }

 private:
  Row mean_;
  std::array<double, kShares> spread_{};
};

// Solves (scatter + a fraction of its diagonal) x = right by Cholesky factorisation.
Row solve(std::vector<Row> matrix, Row x) {
  double trace = 0;
  for (std::size_t i = 0; i < kFeatures; ++i) trace += matrix[i][i];
  for (std::size_t i = 0; i < kFeatures; ++i) matrix[i][i] += 1e-2 * trace / kFeatures + 1e-30;
  for (std::size_t i = 0; i < kFeatures; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(std::max(1e-30, sum)) : sum / matrix[j][j];
    }
  for (std::size_t i = 0; i < kFeatures; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= matrix[i][k] * x[k];
    x[i] /= matrix[i][i];
  }
  for (std::size_t i = kFeatures; i-- > 0;) {
    for (std::size_t k = i + 1; k < kFeatures; ++k) x[i] -= matrix[k][i] * x[k];
    x[i] /= matrix[i][i];
  }
  return x;
}

double area(std::vector<std::pair<double, bool>> scores) {
  std::sort(scores.begin(), scores.end());
  double below = 0, sum = 0, positive = 0;
  for (const auto& [score, is_true] : scores) {
    if (is_true) {
      sum += below;
      positive += 1;
    } else {
      below += 1;
    }
  }
  return positive * below > 0 ? sum / (positive * below) : 0.5;
}

}  // namespace

std::optional<double> separation(const Comparison& comparison) {
  if (comparison.real.size() < kFeatures) return std::nullopt;
  std::vector<Row> rows[2], held[2];  // generated, real
  for (std::size_t i = 0; i < comparison.real.size(); ++i) {
    auto& to = i % 2 == 0 ? rows : held;
    to[0].push_back(features(comparison.energies[i], comparison.generated[i]));
    to[1].push_back(features(comparison.energies[i], comparison.real[i]));
  }
  const Scale scale(rows[1]);
  for (auto* some : {&rows[0], &rows[1], &held[0], &held[1]}) scale.apply(*some);
  std::vector<Row> scatter(kFeatures);
  Row apart{};
  for (std::size_t kind = 0; kind < 2; ++kind) {
    const Row mean = mean_of(rows[kind]);
    for (std::size_t i = 0; i < kFeatures; ++i) apart[i] += kind == 1 ? mean[i] : -mean[i];
    for (const Row& row : rows[kind])
      for (std::size_t i = 0; i < kFeatures; ++i)
        for (std::size_t j = 0; j <= i; ++j)
          scatter[i][j] += (row[i] - mean[i]) * (row[j] - mean[j]);
  }
  const Row direction = solve(std::move(scatter), apart);
  std::vector<std::pair<double, bool>> scores;
  for (std::size_t kind = 0; kind < 2; ++kind)
    for (const Row& row : held[kind]) {
      double score = 0;
      for (std::size_t i = 0; i < kFeatures; ++i) score += direction[i] * row[i];
      scores.emplace_back(score, kind == 1);
    }
  return area(std::move(scores));
}

}  // namespace tutti::models::gan3d
