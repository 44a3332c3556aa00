#include "bench/harness/deprecated_option.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::bench {

void add_deprecated_option(CLI::App& app, const std::string& old_name, const std::string& name) {
  app.add_option_function<std::vector<std::string>>(
         old_name,
         [&app, old_name, name](const std::vector<std::string>& values) {
           warn_deprecated("option", old_name, name);
           for (const std::string& value : values) app.get_option(name)->add_result(value);
         })
      ->group("");
}

}  // namespace tutti::bench
