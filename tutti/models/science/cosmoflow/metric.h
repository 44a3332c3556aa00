// How well parameters are read, and against what.
#pragma once

#include <string>
#include <vector>

#include "tutti/models/science/cosmoflow/case.h"
#include "tutti/plot/chart.h"

namespace tutti::models::cosmoflow {

struct Prediction {
  std::vector<double> predicted, truth;  // physical units
};

struct ParameterScore {
  std::string name;
  double error = 0;       // mean |predicted - truth| / truth
  double mean_error = 0;  // the same for who always says the mean of the truths
  double correlation = 0;
};
std::vector<ParameterScore> scores(const std::vector<Parameter>& parameters,
                                   const std::vector<Prediction>& predictions);
// Mean over the parameters of 1 - error / mean_error: 0 for who says the mean, 1 for who knows.
// Parameters that are the same in all samples say nothing and count 0.
double skill(const std::vector<ParameterScore>& scores);
// Mean of |predicted - truth| over samples and parameters, in the units of the network. MLPerf HPC
// calls a network trained that comes to 0.124; who says the mean of even parameters has 0.5 there.
double mean_absolute_error(const std::vector<Parameter>& parameters,
                           const std::vector<Prediction>& predictions);
inline constexpr double kMlperfTarget = 0.124;

// Predicted over true: mean and spread in ten bins of the truth, and the line of who knows.
plot::Chart truth_chart(const std::vector<Parameter>& parameters,
                        const std::vector<Prediction>& predictions, std::size_t which);

}  // namespace tutti::models::cosmoflow
