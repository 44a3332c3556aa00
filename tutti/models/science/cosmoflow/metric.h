// Errors of the predicted parameters, compared with a constant-mean baseline.
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
  double mean_error = 0;  // the same for a constant prediction, the mean of the truths
  double correlation = 0;
};
std::vector<ParameterScore> scores(const std::vector<Parameter>& parameters,
                                   const std::vector<Prediction>& predictions);
// Mean over the parameters of 1 - error / mean_error: 0 for the constant-mean baseline, 1 for a perfect prediction.
// Parameters that are equal in all samples count as 0.
double skill(const std::vector<ParameterScore>& scores);
// Mean of |predicted - truth| over samples and parameters, in the units of the network. The target of MLPerf HPC is
// 0.124; the constant-mean baseline for uniform parameters has 0.5.
double mean_absolute_error(const std::vector<Parameter>& parameters,
                           const std::vector<Prediction>& predictions);
inline constexpr double kMlperfTarget = 0.124;

// Predicted over true: mean and standard deviation in ten bins of the truth, and the diagonal.
plot::Chart truth_chart(const std::vector<Parameter>& parameters,
                        const std::vector<Prediction>& predictions, std::size_t which);

}  // namespace tutti::models::cosmoflow
