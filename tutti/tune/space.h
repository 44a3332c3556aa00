// The parameters of a search, in order, with the conditions under which they exist.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tutti/tune/distribution.h"

namespace tutti::tune {

struct Parameter {
  std::string name;
  Distribution distribution;
  // The parameter exists only in trials whose categorical parameter `parent` has one of the values `parent_choices`,
  // given as indices. `parent` precedes it in the space. Empty: always.
  std::string parent = {};
  std::vector<std::size_t> parent_choices = {};

  bool is_conditional() const { return !parent.empty(); }
};

using Space = std::vector<Parameter>;

// Parses "learning_rate=log:1e-4..1e-1", "layers=2..8", "width=int:64..512:64", "dropout=0.0..0.5",
// "optimizer=sgd,adam,lamb". A range with a decimal point, an exponent or "float:" is a float; one of integers is an
// integer. Throws ConfigError (DDL-10-01, DDL-10-03).
Parameter parse_parameter(const std::string& text);

// Adds "if PARENT=VALUE[,VALUE]" to `parameter`. Throws ConfigError (DDL-10-04) if the parent is not a categorical
// parameter of `space`, or does not have the value.
void add_condition(Parameter& parameter, const Space& space, const std::string& parent,
                   const std::vector<std::string>& values);

// True for each parameter of `space` that exists if all have these values.
std::vector<bool> active_parameters(const Space& space, const std::vector<double>& values);

}  // namespace tutti::tune
