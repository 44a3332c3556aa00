// The case `cosmoflow`: its options and its network, and what it looks for.
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

// The choices of the options `variant` and `input`.
enum class Variant { kPaper, kMlperf };
enum class Input { kDensity, kContrast, kLog };

// A parameter of universes: made evenly between `low` and `high`; the network gives
// (value - centre) / scale.
struct Parameter {
  std::string name;
  double low, high, centre, scale;
};
// Those of the variant `paper` (omega_m, sigma_8, n_s) or `mlperf` (h as well).
const std::vector<Parameter>& parameters(Variant variant);
Cosmology cosmology_of(Variant variant, const std::vector<double>& values);

}  // namespace tutti::models::cosmoflow
