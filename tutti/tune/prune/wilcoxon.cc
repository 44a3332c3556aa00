// Pruning by Wilcoxon's signed-rank test.
//
// The reports of a trial are results on parts of the same task, such as the folds of a cross-validation, so those of
// the same step of two trials form a pair. The differences to the best trial are ranked by their absolute values. If
// both trials were equally good, every sign would be equally likely; p is the probability that the ranks of the
// positive differences then have the observed sum or a larger one. Equal values share the mean of their ranks, and
// ranks of zero differences count half.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tutti/tune/prune/pruner.h"

namespace tutti::tune {
namespace {

constexpr std::size_t kMostExact = 100;  // pairs; above, the sum of ranks is nearly normal
constexpr std::size_t kFewestPairs = 2;

// Twice the ranks of the absolute values, so they are integers.
std::vector<std::int64_t> doubled_ranks(const std::vector<double>& differences) {
  std::vector<std::size_t> order(differences.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size_of = [&](std::size_t i) { return std::abs(differences[i]); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return size_of(a) < size_of(b); });
  std::vector<std::int64_t> ranks(differences.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && size_of(order[end]) == size_of(order[begin])) ++end;
    // Ranks begin + 1 to end.
    for (std::size_t i = begin; i < end; ++i)
      ranks[order[i]] = static_cast<std::int64_t>(begin + 1 + end);
  }
  return ranks;
}

// Probability that the sum of ranks with random signs reaches `observed`.
double exact_tail(const std::vector<std::int64_t>& ranks, std::int64_t observed) {
  const std::int64_t most = std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
  std::vector<double> probability(static_cast<std::size_t>(most) + 1, 0);
  probability[0] = 1;
  for (const std::int64_t rank : ranks) {
    for (std::int64_t sum = most; sum >= 0; --sum) {
      const double without = probability[static_cast<std::size_t>(sum)];
      const double with = sum >= rank ? probability[static_cast<std::size_t>(sum - rank)] : 0;
      probability[static_cast<std::size_t>(sum)] = (without + with) / 2;
    }
  }
  return std::accumulate(probability.begin() + observed, probability.end(), 0.0);
}

double normal_tail(const std::vector<std::int64_t>& ranks, std::int64_t observed) {
  double mean = 0, variance = 0;
  for (const std::int64_t rank : ranks) {
    mean += static_cast<double>(rank) / 2;
    variance += static_cast<double>(rank) * static_cast<double>(rank) / 4;
  }
  return std::erfc((static_cast<double>(observed) - mean) / std::sqrt(2 * variance)) / 2;
}

// Probability of differences that are so large if positive and negative ones were equally likely.
double p_value(const std::vector<double>& differences) {
  const std::vector<std::int64_t> ranks = doubled_ranks(differences);
  std::vector<std::int64_t> signed_ranks;
  std::int64_t observed = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (differences[i] == 0) continue;  // half of its rank counts for either side
    signed_ranks.push_back(ranks[i]);
    if (differences[i] > 0) observed += ranks[i];
  }
  if (signed_ranks.empty()) return 1;
  return ranks.size() <= kMostExact ? exact_tail(signed_ranks, observed)
                                    : normal_tail(signed_ranks, observed);
}

class WilcoxonPruner : public Pruner {
 public:
  explicit WilcoxonPruner(const WilcoxonOptions& options) : options_(options) {}

  bool should_prune(const History& history, const Trial& trial) const override {
    const Trial* best = history.best();
    if (!best || best->reports.empty() || trial.reports.empty()) return false;
    std::map<std::int64_t, double> best_losses;
    for (const Report& report : best->reports) {
      best_losses[report.step] = history.signed_report(report.value);
    }
    std::vector<double> differences;
    for (const Report& report : trial.reports) {
      const auto pair = best_losses.find(report.step);
      if (pair == best_losses.end()) continue;
      const double difference = history.signed_report(report.value) - pair->second;
      if (std::isfinite(difference)) differences.push_back(difference);
    }
    if (differences.size() < std::max(kFewestPairs, options_.startup_steps)) return false;
    return p_value(differences) < options_.p_threshold &&
           mean_loss(history, trial) > mean_loss(history, *best);
  }

 private:
  // A trial whose mean is as good as that of all reports of the best one may become the best.
  static double mean_loss(const History& history, const Trial& trial) {
    double sum = 0;
    for (const Report& report : trial.reports) sum += history.signed_report(report.value);
    return sum / static_cast<double>(trial.reports.size());
  }

  WilcoxonOptions options_;
};

}  // namespace

std::unique_ptr<Pruner> make_wilcoxon_pruner(const WilcoxonOptions& options) {
  return std::make_unique<WilcoxonPruner>(options);
}

}  // namespace tutti::tune
