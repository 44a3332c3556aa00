#include "tutti/models/science/cosmoflow/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti::models::cosmoflow {
namespace {

constexpr double kNoSpread = 1e-9;  // samples of one universe: the mean is the truth

}  // namespace

std::vector<ParameterScore> scores(const std::vector<Parameter>& parameters,
                                   const std::vector<Prediction>& predictions) {
  std::vector<ParameterScore> result;
  const double count = std::max<double>(1, double(predictions.size()));
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    double mean_truth = 0, mean_prediction = 0;
    for (const Prediction& prediction : predictions) {
      mean_truth += prediction.truth[p] / count;
      mean_prediction += prediction.predicted[p] / count;
    }
    ParameterScore score{parameters[p].name};
    double tt = 0, pp = 0, tp = 0;
    for (const Prediction& prediction : predictions) {
      const double t = prediction.truth[p], y = prediction.predicted[p];
      score.error += std::abs(y - t) / t / count;
      score.mean_error += std::abs(mean_truth - t) / t / count;
      tt += (t - mean_truth) * (t - mean_truth);
      pp += (y - mean_prediction) * (y - mean_prediction);
      tp += (t - mean_truth) * (y - mean_prediction);
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
                           const std::vector<Prediction>& predictions) {
  double sum = 0;
  for (const Prediction& prediction : predictions)
    for (std::size_t p = 0; p < parameters.size(); ++p)
      sum += std::abs(prediction.predicted[p] - prediction.truth[p]) / parameters[p].scale;
  return sum / std::max<double>(1, double(predictions.size() * parameters.size()));
}

plot::Chart truth_chart(const std::vector<Parameter>& parameters,
                        const std::vector<Prediction>& predictions, std::size_t which) {
  constexpr int kBins = 10;
  const Parameter& parameter = parameters[which];
  struct Bin {
    double count = 0, truth = 0, sum = 0, squares = 0;
  } bins[kBins];
  for (const Prediction& prediction : predictions) {
    const double t = prediction.truth[which], y = prediction.predicted[which];
    const double fraction = (t - parameter.low) / (parameter.high - parameter.low);
    Bin& bin = bins[std::clamp(static_cast<int>(fraction * kBins), 0, kBins - 1)];
    bin.count += 1;
    bin.truth += t;
    bin.sum += y;
    bin.squares += y * y;
  }
  plot::Series ours{"network", plot::LineStyle::kOurs, {}};
  for (const Bin& bin : bins) {
    if (bin.count == 0) continue;
    const double mean = bin.sum / bin.count,
                 deviation = std::sqrt(std::max(0.0, bin.squares / bin.count - mean * mean));
    ours.points.push_back({bin.truth / bin.count, mean, mean - deviation, mean + deviation});
  }
  const plot::Series right{"truth",
                           plot::LineStyle::kBound,
                           {{parameter.low, parameter.low}, {parameter.high, parameter.high}}};
  auto text = [](double value) { return plot::plain_text(value); };
  return {parameter.name + " on test universes",
          fmt::format("mean and standard deviation of {} samples", predictions.size()),
          {"true " + parameter.name, 10, text, true},
          {"predicted", 10, text, true},
          {ours, right}};
}

}  // namespace tutti::models::cosmoflow
