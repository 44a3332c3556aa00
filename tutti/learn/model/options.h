// Option table of `tutti learn train` and of the Python estimators. Defaults come from GlmOptions, ForestOptions and
// BoostOptions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::learn {

struct LearnOption {
  OptionSpec spec;
  std::string_view scope;    // models that the option applies to
  std::string_view python;   // keywords of the estimators in tutti.learn; empty: none
  std::string_view snap_ml;  // keyword and default in snap_ml if they differ; empty: none
};

const std::vector<LearnOption>& learn_options();
// The specifications only.
const OptionTable& train_options();

// Content of docs/reference/learn-options.md.
std::string learn_options_markdown();

// Names of linear models, and of tree models.
const std::vector<std::string>& linear_model_names();
const std::vector<std::string>& tree_model_names();

}  // namespace tutti::learn
