// The options of training: one table for the command line, TOML files and the docs.
#pragma once

#include "tutti/core/options.h"

namespace tutti::train {

// Values of the choices that more than one place needs, in the order of the table.
enum class StrategyKind { kSync, kAsync, kHybrid, kLocalSgd };  // `strategy`
enum class UpdateScope { kAll, kSharded };                      // `update`

// What every case understands. A case adds rows of its own and sets its own defaults.
const OptionTable& train_options();

// The row of an option with these choices.
OptionSpec choice(std::string name, std::string default_value, std::string help,
                  std::vector<std::string> choices);

// The row `spec` with the deprecated names of the option and of its environment variable.
OptionSpec formerly(std::string old_name, OptionSpec spec, std::string old_environment = "");

}  // namespace tutti::train
