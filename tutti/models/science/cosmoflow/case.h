// The case `cosmoflow`: options, network and target parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tutti/core/options.h"
#include "tutti/models/science/cosmoflow/cosmology.h"
#include "tutti/train/run/config.h"

namespace tutti::models::cosmoflow {

const train::CaseInfo& case_info();
std::unique_ptr<train::Task> make_task(const Options& options);

// Choices of the options `variant` and `input`.
enum class Variant { kPaper, kMlperf };
enum class Input { kDensity, kContrast, kLog };

// A parameter of universes, distributed uniformly between `low` and `high`. The output of the network is (value -
// centre) / scale.
struct Parameter {
  std::string name;
  double low, high, centre, scale;
};
// Those of the variant `paper` (omega_m, sigma_8, n_s) or `mlperf` (h as well).
const std::vector<Parameter>& parameters(Variant variant);
Cosmology cosmology_of(Variant variant, const std::vector<double>& values);

}  // namespace tutti::models::cosmoflow
