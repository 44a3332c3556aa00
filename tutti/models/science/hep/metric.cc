#include "tutti/models/science/hep/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti::models::hep {
namespace {

// A weighted fraction and its error: the square root of the sum of squared weights, as for counted events. If no event
// passes, the error is that of the largest weight.
struct Share {
  double value = 0, error = 0;
};

template <class Predicate>
Share share_of(std::span<const Scored> events, bool of_signal, Predicate passes) {
  double all = 0, passed = 0, squares = 0, heaviest = 0;
  for (const Scored& event : events) {
    if (event.is_signal != of_signal) continue;
    all += event.weight;
    heaviest = std::max(heaviest, double{event.weight});
    if (!passes(event)) continue;
    passed += event.weight;
    squares += double{event.weight} * event.weight;
  }
  if (all == 0) return {};
  return {passed / all, passed > 0 ? std::sqrt(squares) / all : heaviest / all};
}

}  // namespace

std::vector<RocPoint> roc(std::span<const Scored> events) {
  std::vector<Scored> sorted(events.begin(), events.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Scored& a, const Scored& b) { return a.score > b.score; });
  double signal = 0, background = 0;
  for (const Scored& event : sorted) (event.is_signal ? signal : background) += event.weight;
  std::vector<RocPoint> curve = {{0, 0}};
  double true_sum = 0, false_sum = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    (sorted[i].is_signal ? true_sum : false_sum) += sorted[i].weight;
    if (i + 1 < sorted.size() && sorted[i + 1].score == sorted[i].score) continue;
    curve.push_back(
        {background > 0 ? false_sum / background : 0, signal > 0 ? true_sum / signal : 0});
  }
  return curve;
}

double true_rate_at(std::span<const RocPoint> curve, double false_rate) {
  // Linear interpolation from the last point that is not above it.
  const auto next =
      std::upper_bound(curve.begin(), curve.end(), false_rate,
                       [](double rate, const RocPoint& p) { return rate < p.false_rate; });
  if (next == curve.begin()) return 0;
  const RocPoint& low = *std::prev(next);
  if (next == curve.end() || next->false_rate <= low.false_rate) return low.true_rate;
  const double part = (false_rate - low.false_rate) / (next->false_rate - low.false_rate);
  return low.true_rate + part * (next->true_rate - low.true_rate);
}

double area(std::span<const RocPoint> curve) {
  double sum = 0;
  for (std::size_t i = 1; i < curve.size(); ++i)
    sum += (curve[i].false_rate - curve[i - 1].false_rate) *
           (curve[i].true_rate + curve[i - 1].true_rate) / 2;
  return sum;
}

Verdict compare_with_cuts(std::span<const Scored> events) {
  auto passes_cuts = [](const Scored& event) { return event.passes_cuts; };
  const Share false_share = share_of(events, false, passes_cuts),
              true_share = share_of(events, true, passes_cuts);
  const std::vector<RocPoint> curve = roc(events);
  Verdict verdict{false_share.value, false_share.error, true_share.value, true_share.error};
  verdict.network = true_rate_at(curve, verdict.false_rate);
  const double up = true_rate_at(curve, verdict.false_rate + verdict.false_rate_error);
  const double down =
      true_rate_at(curve, std::max(0.0, verdict.false_rate - verdict.false_rate_error));
  const double counts = static_cast<double>(std::count_if(
      events.begin(), events.end(), [](const Scored& event) { return event.is_signal; }));
  // If none or all of few events pass, the error is not zero: one more or less is possible.
  const double one = std::min(0.5, 1 / std::max(1.0, counts)),
               share = std::clamp(verdict.network, one, 1 - one);
  const double binomial = std::sqrt(share * (1 - share) / std::max(1.0, counts));
  verdict.network_error = std::hypot((up - down) / 2, binomial);
  if (verdict.cuts > 0) {
    verdict.ratio = verdict.network / verdict.cuts;
    verdict.ratio_error =
        std::hypot(verdict.network_error, verdict.ratio * verdict.cuts_error) / verdict.cuts;
  }
  verdict.area = area(curve);
  verdict.network_at_percent = true_rate_at(curve, 1e-2);
  verdict.network_at_permille = true_rate_at(curve, 1e-3);
  return verdict;
}

plot::Chart roc_chart(std::span<const Scored> events, const Verdict& verdict) {
  plot::Chart chart{
      "Signal efficiency against background efficiency",
      fmt::format(
          "network {:.3f} ± {:.3f}, cuts {:.3f} ± {:.3f} at background {:.2e}: {:.2f} times",
          verdict.network, verdict.network_error, verdict.cuts, verdict.cuts_error,
          verdict.false_rate, verdict.ratio),
      {"background efficiency (weighted)", 10, plot::plain_text},
      {"signal efficiency", 10, plot::plain_text, true},
      {}};
  plot::Series network{"network", plot::LineStyle::kOurs, {}};
  const std::vector<RocPoint> curve = roc(events);
  for (double rate = 1e-6; rate <= 1; rate *= 1.1)
    if (const double found = true_rate_at(curve, rate); found > 0)
      network.points.push_back({rate, found});
  chart.series = {
      network,
      {"cuts", plot::LineStyle::kPeer, {{std::max(verdict.false_rate, 1e-6), verdict.cuts}}}};
  return chart;
}

plot::Chart score_chart(std::span<const Scored> events) {
  constexpr int kBins = 50;
  plot::Chart chart{"Score of the network",
                    "fraction of the weighted events per bin",
                    {"score", 10, plot::plain_text, true},
                    {"share", 10, plot::plain_text},
                    {}};
  for (bool is_signal : {true, false}) {
    std::vector<double> bins(kBins);
    double all = 0;
    for (const Scored& event : events) {
      if (event.is_signal != is_signal) continue;
      bins[static_cast<std::size_t>(
          std::clamp(static_cast<int>(event.score * kBins), 0, kBins - 1))] += event.weight;
      all += event.weight;
    }
    plot::Series series{is_signal ? "signal" : "background",
                        is_signal ? plot::LineStyle::kOurs : plot::LineStyle::kPeer,
                        {}};
    for (int i = 0; i < kBins && all > 0; ++i)
      series.points.push_back({(i + 0.5) / kBins, bins[static_cast<std::size_t>(i)] / all});
    chart.series.push_back(series);
  }
  return chart;
}

}  // namespace tutti::models::hep
