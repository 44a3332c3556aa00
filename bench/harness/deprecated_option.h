// Deprecated spellings of the command-line options of benchmarks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

#include "tutti/core/options.h"

namespace tutti::bench {

// Accepts `old_name` as an alias of `name`, with a warning. The help does not list it. T is the type of the value, a
// vector of strings for lists. Declare it before `name`: CLI11 processes options in the order of their declaration.
template <class T = std::string>
void accept_deprecated(CLI::App& app, const std::string& old_name, const std::string& name) {
  const auto pass_on = [&app, old_name, name](const T& value) {
    warn_deprecated("option", old_name, name);
    if constexpr (std::is_same_v<T, std::string>) {
      app.get_option(name)->add_result(value);
    } else {
      for (const std::string& one : value) app.get_option(name)->add_result(one);
    }
  };
  app.add_option_function<T>(old_name, pass_on)->group("");
}

}  // namespace tutti::bench
