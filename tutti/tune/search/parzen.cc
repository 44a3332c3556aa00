#include "tutti/tune/search/parzen.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tutti/tune/search/mixture_kernel.h"

namespace tutti::tune {
namespace {

constexpr double kJointWidth = 0.2;  // width of kernels of several parameters, for one observation
constexpr double kMostWidths = 100;  // a kernel is at least 1 / kMostWidths wide
constexpr double kSmallGrid = 128;   // grids with more values are treated as continuous
constexpr std::size_t kTableSize = 256;  // entries of the table of masses
constexpr double kFarFromEnd = 6;        // in widths: truncation is negligible
constexpr double kSmallestMass = 1e-12;
constexpr double kPriorPosition = 0.5, kPriorWidth = 1;
constexpr double kLogNormalScale = 0.91893853320467274;

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x * 0.70710678118654752);
}

// Log mass of the normal distribution around `position` on [low, high].
double log_mass(double low, double high, double position, double width) {
  const double mass = normal_cdf((high - position) / width) - normal_cdf((low - position) / width);
  return std::log(std::max(mass, kSmallestMass));
}

double log_mass_on_unit(double position, double width) {
  if (std::min(position, 1 - position) > kFarFromEnd * width) return 0;
  return log_mass(0, 1, position, width);
}

bool is_small_grid(const Distribution& distribution) {
  return !distribution.is_categorical() && distribution.is_discrete() &&
         distribution.cardinality() <= kSmallGrid;
}

struct Interval {
  double low, high;
};

// The positions of one value of a grid.
Interval interval_at(const Distribution& distribution, double position) {
  const double half = distribution.half_width(distribution.value_at(position));
  return {std::max(position - half, 0.0), std::min(position + half, 1.0)};
}

// Positions of all values of a grid.
std::vector<float> grid_centers(const Distribution& distribution) {
  std::vector<float> centers;
  for (double i = 0; i < distribution.cardinality(); ++i) {
    centers.push_back(
        static_cast<float>(distribution.position_of(distribution.low + i * distribution.step)));
  }
  return centers;
}

std::uint8_t nearest_index(const Distribution& distribution, const std::vector<float>& centers,
                           float position) {
  if (!distribution.is_log) {  // intervals of equal width
    const auto index = static_cast<std::size_t>(position * static_cast<float>(centers.size()));
    return static_cast<std::uint8_t>(std::min(index, centers.size() - 1));
  }
  const auto above = std::lower_bound(centers.begin(), centers.end(), position);
  if (above == centers.begin()) return 0;
  const auto index = static_cast<std::uint8_t>(above - centers.begin());
  const bool is_below = above == centers.end() || position - above[-1] < *above - position;
  return is_below ? index - 1 : index;
}

// The larger of the distances of each position to its neighbours, with the prior among them.
std::vector<float> neighbour_distances(const std::vector<float>& positions) {
  std::vector<std::size_t> order(positions.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return positions[a] < positions[b]; });
  std::vector<float> sorted;
  for (const std::size_t k : order) sorted.push_back(positions[k]);
  const auto prior =
      std::lower_bound(sorted.begin(), sorted.end(), static_cast<float>(kPriorPosition));
  const auto prior_rank = static_cast<std::size_t>(prior - sorted.begin());
  sorted.insert(prior, static_cast<float>(kPriorPosition));
  std::vector<float> distances(positions.size());
  for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
    if (rank == prior_rank) continue;
    const float before = rank > 0 ? sorted[rank] - sorted[rank - 1] : 0;
    const float after = rank + 1 < sorted.size() ? sorted[rank + 1] - sorted[rank] : 0;
    distances[order[rank - (rank > prior_rank)]] = std::max(before, after);
  }
  return distances;
}

// Standard deviation of the positions; of fewer than two, the largest width of a kernel.
double spread_of(const std::vector<float>& positions) {
  if (positions.size() < 2) return kJointWidth;
  double mean = 0, square = 0;
  for (const float position : positions) mean += position;
  mean /= static_cast<double>(positions.size());
  for (const float position : positions) square += (position - mean) * (position - mean);
  return std::sqrt(square / static_cast<double>(positions.size()));
}

double log_prior(const Distribution& distribution, double x) {
  if (distribution.is_categorical()) return -std::log(distribution.cardinality());
  const double unit = log_mass(0, 1, kPriorPosition, kPriorWidth);
  if (is_small_grid(distribution)) {
    const auto [low, high] = interval_at(distribution, x);
    return log_mass(low, high, kPriorPosition, kPriorWidth) - unit;
  }
  const double distance = (x - kPriorPosition) / kPriorWidth;
  return -0.5 * distance * distance - std::log(kPriorWidth) - kLogNormalScale - unit;
}

double log_add_exp(double a, double b) {
  const double largest = std::max(a, b);
  return largest + std::log(std::exp(a - largest) + std::exp(b - largest));
}

}  // namespace

ParzenEstimator::ParzenEstimator(const Space& space, std::vector<Observations> observations,
                                 std::vector<double> weights)
    : count_(weights.size()),
      components_(static_cast<double>(count_) + 1),
      weights_(std::move(weights)) {
  weights_.push_back(1);
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& weight : weights_) weight /= sum;
  log_scales_.resize(count_);
  for (std::size_t k = 0; k < count_; ++k)
    log_scales_[k] = static_cast<float>(std::log(weights_[k]));
  for (std::size_t i = 0; i < space.size(); ++i) {
    Dimension dimension{&space[i].distribution, std::move(observations[i])};
    if (!dimension.distribution->is_categorical()) {
      set_widths(dimension, space.size());
      set_masses(dimension);
    }
    dimensions_.push_back(std::move(dimension));
  }
}

// The kernel of a single parameter is as wide as the distance to its farther neighbour, so kernels are narrow where
// trials are dense. Several parameters have no neighbours in this sense, and the values of a small grid coincide. Their
// kernels have equal widths: the spread of the trials along the parameter, and less for many trials (Scott's rule). The
// best trials move together during a search, so the kernels of their density become narrow.
void ParzenEstimator::set_widths(Dimension& dimension, std::size_t dimensions) const {
  const double smallest = 1 / std::min(kMostWidths, 1 + components_);
  if (dimensions == 1 && !is_small_grid(*dimension.distribution)) {
    for (const float distance : neighbour_distances(dimension.observed)) {
      dimension.inverse_widths.push_back(
          static_cast<float>(1 / std::clamp<double>(distance, smallest, 1)));
    }
    return;
  }
  const double observations = std::max(components_ - 1, 1.0);
  const double shrinkage = std::pow(observations, -1 / (static_cast<double>(dimensions) + 4));
  const double width = std::min(kJointWidth, spread_of(dimension.observed));
  dimension.width = std::max(width * shrinkage, smallest);
  dimension.inverse_widths.assign(count_, static_cast<float>(1 / dimension.width));
}

void ParzenEstimator::set_masses(Dimension& dimension) {
  const bool is_grid = is_small_grid(*dimension.distribution);
  const std::vector<float> centers =
      is_grid ? grid_centers(*dimension.distribution) : std::vector<float>{};
  std::vector<double> table;
  if (dimension.width > 0 && count_ > 2 * kTableSize) {
    for (std::size_t i = 0; i <= kTableSize + 1; ++i) {
      table.push_back(log_mass_on_unit(static_cast<double>(i) / kTableSize, dimension.width));
    }
  }
  const double log_width = std::log(dimension.width);
  for (std::size_t k = 0; k < count_; ++k) {
    const double position = dimension.observed[k], width = 1 / dimension.inverse_widths[k];
    double normalization = 0;
    if (table.empty()) {
      normalization = log_mass_on_unit(position, width);
    } else {
      const double at = position * static_cast<double>(kTableSize);
      const auto i = static_cast<std::size_t>(at);
      normalization = table[i] + (at - static_cast<double>(i)) * (table[i + 1] - table[i]);
    }
    if (is_grid) {  // the masses of values do not have the factor of the density
      dimension.grid_indices.push_back(
          nearest_index(*dimension.distribution, centers, dimension.observed[k]));
    } else {
      normalization += kLogNormalScale + (dimension.width > 0 ? log_width : std::log(width));
    }
    log_scales_[k] -= static_cast<float>(normalization);
  }
}

Point ParzenEstimator::sample(Random& random) const {
  double remaining = random.uniform();
  std::size_t component = 0;
  while (component < count_ && remaining >= weights_[component]) remaining -= weights_[component++];
  Point point;
  for (const Dimension& dimension : dimensions_)
    point.push_back(draw(dimension, component, random));
  return point;
}

float ParzenEstimator::draw(const Dimension& dimension, std::size_t component,
                            Random& random) const {
  const Distribution& distribution = *dimension.distribution;
  const bool is_prior = component == count_;
  if (distribution.is_categorical()) {
    const auto choices = static_cast<std::uint64_t>(distribution.cardinality());
    const double total = 1 + static_cast<double>(choices) / components_;
    if (!is_prior && random.uniform() * total < 1) return dimension.observed[component];
    return static_cast<float>(random.below(choices));
  }
  const double center = is_prior ? kPriorPosition : dimension.observed[component];
  const double width = is_prior ? kPriorWidth : 1 / dimension.inverse_widths[component];
  double position = -1;
  while (position < 0 || position > 1) position = center + width * random.gaussian();
  if (distribution.is_discrete()) {
    position = distribution.position_of(distribution.value_at(position));
  }
  return static_cast<float>(position);
}

void ParzenEstimator::add_choice(const Dimension& dimension, float choice,
                                 std::vector<float>& logs) const {
  const double choices = dimension.distribution->cardinality();
  const double total = 1 + choices / components_;
  const auto same = static_cast<float>(std::log((1 + 1 / components_) / total));
  const auto other = static_cast<float>(std::log(1 / components_ / total));
  add_where_equal(dimension.observed.data(), choice, same, other, logs.data(), count_);
}

void ParzenEstimator::add_value(const Dimension& dimension, float position,
                                std::vector<float>& logs) const {
  const Distribution& distribution = *dimension.distribution;
  if (dimension.grid_indices.empty()) {
    subtract_half_squares(dimension.observed.data(), dimension.inverse_widths.data(), position,
                          logs.data(), count_);
    return;
  }
  const auto [low, high] = interval_at(distribution, position);
  std::vector<float> log_masses;
  for (const float center : grid_centers(distribution)) {
    log_masses.push_back(static_cast<float>(log_mass(low, high, center, dimension.width)));
  }
  for (std::size_t k = 0; k < count_; ++k) logs[k] += log_masses[dimension.grid_indices[k]];
}

std::vector<double> ParzenEstimator::log_densities(const std::vector<Point>& points) const {
  std::vector<double> densities;
  std::vector<float> logs;
  for (const Point& point : points) {
    logs = log_scales_;
    double prior = std::log(weights_.back());
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      const Dimension& dimension = dimensions_[i];
      prior += log_prior(*dimension.distribution, point[i]);
      if (dimension.distribution->is_categorical()) {
        add_choice(dimension, point[i], logs);
      } else {
        add_value(dimension, point[i], logs);
      }
    }
    densities.push_back(log_add_exp(log_sum_exp(logs.data(), count_), prior));
  }
  return densities;
}

}  // namespace tutti::tune
