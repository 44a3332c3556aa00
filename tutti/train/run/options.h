// Options of training: one table for the command line, TOML files and the reference page.
#pragma once

#include "tutti/core/options.h"

namespace tutti::train {

// Choices that several sources use, in the order of the table.
enum class StrategyKind { kSync, kAsync, kHybrid, kLocalSgd };  // `strategy`
enum class UpdateScope { kAll, kSharded };                      // `update`

// Options that all cases have in common. A case adds its own rows and changes defaults.
const OptionTable& train_options();

// The row of an option with these choices.
OptionSpec choice(std::string name, std::string default_value, std::string help,
                  std::vector<std::string> choices);

// The row `spec` with `old_choice` as the deprecated name of the choice `current`.
OptionSpec formerly_choice(std::string old_choice, std::string current, OptionSpec spec);

// The row `spec` with the deprecated names of the option and of its environment variable.
OptionSpec formerly(std::string old_name, OptionSpec spec, std::string old_environment = "");

}  // namespace tutti::train
