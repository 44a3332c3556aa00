// The values that a parameter of a search may take.
//
// Samplers work on numbers: the value of a float or integer parameter itself, and the index of a choice. They draw in
// the unit interval, on which every parameter is uniform a priori: a logarithmic parameter is mapped by its logarithm,
// and the values of a parameter with a step are intervals of equal width. A space of D parameters is then the unit
// cube.
#pragma once

#include <string>
#include <vector>

namespace tutti::tune {

enum class DistributionKind { kFloat, kInteger, kCategorical };

struct Distribution {
  DistributionKind kind = DistributionKind::kFloat;
  double low = 0, high = 1;  // inclusive; 0 and number of choices - 1 if categorical
  double step = 0;  // distance of neighbouring values; 0: continuous. At least 1 for integers
  bool is_log = false;
  std::vector<std::string> choices = {};  // JSON values; categorical only

  static Distribution real(double low, double high, bool is_log = false, double step = 0);
  static Distribution integer(double low, double high, bool is_log = false, double step = 1);
  static Distribution categorical(std::vector<std::string> choices);

  bool is_categorical() const { return kind == DistributionKind::kCategorical; }
  bool is_discrete() const { return step > 0; }
  bool is_single() const { return low == high; }  // has only one value
  // Number of values; infinity if continuous.
  double cardinality() const;
  bool contains(double value) const;

  // The value at `position` in [0, 1].
  double value_at(double position) const;
  // The position of `value` in [0, 1]: the inverse of value_at, in the middle of the interval of a discrete value.
  double position_of(double value) const;
  // Half of the width of the interval of `value` on the unit interval; 0 if continuous.
  double half_width(double value) const;

  bool operator==(const Distribution&) const = default;
};

// Checks the limits of the parameter `name` and moves `high` to the last value that `step` reaches. Throws ConfigError
// (DDL-10-01): empty or reversed range, a limit that is not finite, log of zero, or no choices.
Distribution checked(const std::string& name, Distribution distribution);

// JSON in the format of Optuna's storage: {"name": "FloatDistribution", "attributes": {"low": 0.1, ...}}.
std::string to_json(const Distribution& distribution);
// Also accepts the classes of Optuna 2 (UniformDistribution, ...). Throws ConfigError (DDL-10-02) for other text.
Distribution distribution_from_json(const std::string& text);

// The value as JSON: a number, or the choice.
std::string json_value(const Distribution& distribution, double value);

}  // namespace tutti::tune
