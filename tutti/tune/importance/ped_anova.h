// Importance of parameters: which of them decide whether a trial is among the best.
#pragma once

#include <string>
#include <vector>

#include "tutti/tune/history.h"

namespace tutti::tune {

struct Importance {
  std::string name;
  double value = 0;  // 0: the best trials have the same values as all others
};

struct ImportanceOptions {
  std::size_t objective = 0;
  double best_fraction = 0.1;                // of the complete trials, at least 2 trials
  std::vector<std::string> parameters = {};  // empty: those that every complete trial has
  std::vector<double> losses =
      {};  // by number of the trial, smaller is better; empty: the losses of the objective
  bool is_normalised = true;  // the sum is 1, unless all are 0
};

// PED-ANOVA. Largest first. Uses complete trials that have all of the parameters; with fewer than 3 of them, all values
// are 0. Throws ConfigError (DDL-10-08) for a parameter that no trial has.
std::vector<Importance> parameter_importances(const History& history,
                                              const ImportanceOptions& options = {});

}  // namespace tutti::tune
