#include "tutti/models/science/cosmoflow/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti::models::cosmoflow {
namespace {

constexpr double kNoSpread = 1e-9;  // samples of one universe: its mean is the truth

}  // namespace

std::vector<ParameterScore> scores(const std::vector<Parameter>& parameters,
                                   const std::vector<Guess>& guesses) {
  std::vector<ParameterScore> result;
  const double count = std::max<double>(1, double(guesses.size()));
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    double truths = 0, predictions = 0;
    for (const Guess& guess : guesses) {
      truths += guess.truth[p] / count;
      predictions += guess.predicted[p] / count;
    }
    ParameterScore score{parameters[p].name};
    double tt = 0, pp = 0, tp = 0;
    for (const Guess& guess : guesses) {
      const double t = guess.truth[p], y = guess.predicted[p];
      score.error += std::abs(y - t) / t / count;
      score.mean_error += std::abs(truths - t) / t / count;
      tt += (t - truths) * (t - truths);
      pp += (y - predictions) * (y - predictions);
      tp += (t - truths) * (y - predictions);
    }
    score.correlation = tt > 0 && pp > 0 ? tp / std::sqrt(tt * pp) : 0;
    result.push_back(score);
  }
  return result;
}

double skill(const std::vector<ParameterScore>& scores) {
  double sum = 0;
  for (const ParameterScore& score : scores)
    if (score.mean_error > kNoSpread) sum += 1 - score.error / score.mean_error;
  return sum / std::max<double>(1, double(scores.size()));
}

double mean_absolute_error(const std::vector<Parameter>& parameters,
                           const std::vector<Guess>& guesses) {
  double sum = 0;
  for (const Guess& guess : guesses)
    for (std::size_t p = 0; p < parameters.size(); ++p)
      sum += std::abs(guess.predicted[p] - guess.truth[p]) / parameters[p].scale;
  return sum / std::max<double>(1, double(guesses.size() * parameters.size()));
}

plot::Chart truth_chart(const std::vector<Parameter>& parameters, const std::vector<Guess>& guesses,
                        std::size_t which) {
  constexpr int kBins = 10;
  const Parameter& parameter = parameters[which];
  struct Bin {
    double count = 0, truth = 0, sum = 0, squares = 0;
  } bins[kBins];
  for (const Guess& guess : guesses) {
    const double t = guess.truth[which], y = guess.predicted[which];
    const double place = (t - parameter.low) / (parameter.high - parameter.low);
    Bin& bin = bins[std::clamp(static_cast<int>(place * kBins), 0, kBins - 1)];
    bin.count += 1;
    bin.truth += t;
    bin.sum += y;
    bin.squares += y * y;
  }
  plot::Series ours{"network", plot::LineStyle::kOurs, {}};
  for (const Bin& bin : bins) {
    if (bin.count == 0) continue;
    const double mean = bin.sum / bin.count,
                 spread = std::sqrt(std::max(0.0, bin.squares / bin.count - mean * mean));
    ours.points.push_back({bin.truth / bin.count, mean, mean - spread, mean + spread});
  }
  const plot::Series right{"truth",
                           plot::LineStyle::kBound,
                           {{parameter.low, parameter.low}, {parameter.high, parameter.high}}};
  auto text = [](double value) { return plot::plain_text(value); };
  return {parameter.name + " of universes that were not trained on",
          fmt::format("mean and spread of {} samples", guesses.size()),
          {"true " + parameter.name, 10, text, true},
          {"predicted", 10, text, true},
          {ours, right}};
}

}  // namespace tutti::models::cosmoflow
