#include "tutti/tune/trial.h"

#include <algorithm>
#include <array>

namespace tutti::tune {

std::string_view name_of(TrialState state) {
  static constexpr std::array<std::string_view, 5> kNames = {"running", "complete", "pruned",
                                                             "failed", "waiting"};
  return kNames[static_cast<std::size_t>(state)];
}

const TrialParameter* Trial::find(const std::string& name) const {
  const auto at = std::find_if(parameters.begin(), parameters.end(),
                               [&](const TrialParameter& one) { return one.name == name; });
  return at == parameters.end() ? nullptr : &*at;
}

double Trial::violation() const {
  double sum = 0;
  for (const double constraint : constraints) sum += std::max(constraint, 0.0);
  return sum;
}

}  // namespace tutti::tune
