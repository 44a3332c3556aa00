// PED-ANOVA (Watanabe, Bansal, Hutter: "PED-ANOVA: Efficiently Quantifying Hyperparameter Importance in Arbitrary
// Subspaces", IJCAI 2023).
//
// For every parameter two densities are estimated on a grid of at most 50 cells: p of the best trials, and q of all
// trials. The importance is the Pearson divergence sum q (p / q - 1)^2. It is 0 if the best trials have the same values
// as all others, and large if they share a small part of the range.
//
// The density of numeric parameters is a mixture of one normal distribution per trial, with the bandwidth of Scott's
// rule, and a wide one over the whole range that counts as one trial. That of categorical parameters is the frequency,
// with one trial spread over all choices.
#include "tutti/tune/importance/ped_anova.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tutti/core/error.h"

namespace tutti::tune {
namespace {

constexpr double kMostCells = 50;
constexpr std::size_t kFewestBest = 2;
constexpr double kSmallestDensity = 1e-12;
// 1.64 standard deviations, 90 % of a distribution, stay within one cell.
constexpr double kSmallestBandwidth = 0.5 / 1.64;

using Numbers = std::vector<std::size_t>;  // of trials
using Density = std::vector<double>;       // probability by cell

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

std::size_t cells_of(const Distribution& distribution) {
  if (distribution.is_categorical()) return distribution.choices.size();
  return static_cast<std::size_t>(std::min(distribution.cardinality(), kMostCells));
}

std::size_t cell_of(const Distribution& distribution, double value, std::size_t cells) {
  if (distribution.is_categorical()) return static_cast<std::size_t>(value);
  const double cell = distribution.position_of(value) * static_cast<double>(cells);
  return std::min(static_cast<std::size_t>(cell), cells - 1);
}

double scott_bandwidth(const std::vector<double>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double mean = 0, variance = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    mean += counts[i] * static_cast<double>(i) / total;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    variance += counts[i] * std::pow(static_cast<double>(i) - mean, 2) / std::max(total - 1, 1.0);
  }
  const auto quantile = [&](double share) {
    double sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sum += counts[i];
      if (sum >= share * total) return static_cast<double>(i);
    }
    return static_cast<double>(counts.size() - 1);
  };
  const double quartiles = (quantile(0.75) - quantile(0.25)) / 1.34;
  return std::max(1.059 * std::min(std::sqrt(variance), quartiles) * std::pow(total, -0.2),
                  kSmallestBandwidth);
}

// Adds a normal distribution that is truncated to the range of the cells.
void add_normal(Density& density, double mean, double deviation, double weight) {
  const auto cdf = [&](double x) { return normal_cdf((x - mean) / deviation); };
  const double below = cdf(-0.5), inside = cdf(static_cast<double>(density.size()) - 0.5) - below;
  for (std::size_t i = 0; i < density.size(); ++i) {
    const auto middle = static_cast<double>(i);
    density[i] += weight * (cdf(middle + 0.5) - cdf(middle - 0.5)) / inside;
  }
}

Density density_of(const Distribution& distribution, const Column& column, const Numbers& numbers) {
  const std::size_t cells = cells_of(distribution);
  std::vector<double> counts(cells, 0);
  for (const std::size_t number : numbers)
    ++counts[cell_of(distribution, column.values[number], cells)];
  const double total = static_cast<double>(numbers.size()) + 1;
  Density density(cells, 0);
  if (distribution.is_categorical()) {
    for (std::size_t i = 0; i < cells; ++i)
      density[i] = (counts[i] + 1 / static_cast<double>(cells)) / total;
    return density;
  }
  const double bandwidth = scott_bandwidth(counts);
  for (std::size_t i = 0; i < cells; ++i) {
    if (counts[i] > 0) add_normal(density, static_cast<double>(i), bandwidth, counts[i] / total);
  }
  add_normal(density, (static_cast<double>(cells) - 1) / 2, static_cast<double>(cells), 1 / total);
  return density;
}

double pearson_divergence(const Density& p, const Density& q) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double reference = q[i] + kSmallestDensity;
    sum += reference * std::pow((p[i] + kSmallestDensity) / reference - 1, 2);
  }
  return sum;
}

std::vector<const Column*> columns_of(const History& history,
                                      const std::vector<std::string>& names) {
  std::vector<const Column*> columns;
  for (const std::string& name : names) {
    const Column* column = history.column(name);
    if (!column) {
      throw ConfigError("DDL-10-08",
                        fmt::format("No trial has the parameter '{}'. Parameters of the study: {}.",
                                    name, fmt::join(history.column_names(), ", ")));
    }
    columns.push_back(column);
  }
  return columns;
}

std::vector<std::string> common_parameters(const History& history) {
  std::vector<std::string> names = history.column_names();
  std::erase_if(names, [&](const std::string& name) {
    const Column& column = *history.column(name);
    return std::any_of(history.trials().begin(), history.trials().end(), [&](const Trial& trial) {
      return trial.state == TrialState::kComplete &&
             std::isnan(column.values[static_cast<std::size_t>(trial.number)]);
    });
  });
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<Importance> parameter_importances(const History& history,
                                              const ImportanceOptions& options) {
  const std::vector<std::string> names =
      options.parameters.empty() ? common_parameters(history) : options.parameters;
  const std::vector<const Column*> columns = columns_of(history, names);
  const auto loss = [&](std::size_t number) {
    return options.losses.empty() ? history.loss(history.trials()[number], options.objective)
                                  : options.losses[number];
  };
  Numbers all;
  for (std::size_t i = 0; i < history.trials().size(); ++i) {
    const bool has_all = std::none_of(columns.begin(), columns.end(), [&](const Column* column) {
      return std::isnan(column->values[i]);
    });
    if (has_all && history.trials()[i].state == TrialState::kComplete && std::isfinite(loss(i)))
      all.push_back(i);
  }
  std::vector<Importance> importances;
  for (const std::string& name : names) importances.push_back({name, 0});
  if (all.size() <= kFewestBest) return importances;
  std::stable_sort(all.begin(), all.end(),
                   [&](std::size_t a, std::size_t b) { return loss(a) < loss(b); });
  const auto best_count =
      static_cast<std::size_t>(options.best_fraction * static_cast<double>(all.size()));
  const Numbers best(all.begin(),
                     all.begin() + static_cast<std::ptrdiff_t>(std::max(best_count, kFewestBest)));
  double sum = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Distribution& distribution = *columns[i]->distribution;
    if (distribution.is_single()) continue;
    importances[i].value = pearson_divergence(density_of(distribution, *columns[i], best),
                                              density_of(distribution, *columns[i], all));
    sum += importances[i].value;
  }
  for (Importance& one : importances) {
    if (options.is_normalised && sum > 0) one.value /= sum;
  }
  std::stable_sort(importances.begin(), importances.end(),
                   [](const Importance& a, const Importance& b) { return a.value > b.value; });
  return importances;
}

}  // namespace tutti::tune
