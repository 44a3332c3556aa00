// From what the user typed to the values of every option, and back to a file that says all of them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/train/run/options.h"

namespace tutti::train {

class Task;  // of a case; see task.h

using Settings = std::vector<std::pair<std::string, std::string>>;  // option, value as typed
// The settings of a text such as "batch=32 epochs=4".
Settings settings(std::string_view text);

// What is known of a case without its network: enough to read and check a configuration.
struct CaseInfo {
  std::string name, summary;
  OptionTable options;                       // its own, besides train_options()
  std::map<std::string, Settings> defaults;  // by size; "" for all sizes
  OptionTable table() const;                 // train_options() and its own
  // What another default goes with: when the option `option` is `value`, and the size `size` (""
  // for all), these take the place of the defaults above. Later ones win.
  struct Recipe {
    std::string option, value, size;
    Settings defaults;
  };
  std::vector<Recipe> recipes = {};
};

struct Request {
  std::string case_name;
  Settings settings;  // of the file, then of the command line; later ones win
};

// Reads a TOML file of plain keys: `case = "hep"` and options by name. Throws ConfigError that
// names the line.
Request read_toml(const std::filesystem::path& file);

// Replaces deprecated names and choices by the current ones without a warning: for options that an earlier release
// saved in a run directory. Unknown names stay.
void use_current_names(const OptionTable& table, Settings& settings);

// The options of the case: defaults of the table, of the case and its size, of its recipes, then
// the settings.
// `table` must outlive the result. Throws ConfigError.
Options resolve(const CaseInfo& info, const OptionTable& table, const Settings& settings);

// Makes the paths in options absolute, those of `data`, `staging_dir` and `model`: a run can then be used
// from any directory.
void make_paths_absolute(Options& options);

// Whether the strategy of the options takes every step on all ranks together.
bool is_synchronous(const Options& options);

// Throws ConfigError when an option is set that the strategy would ignore.
void check_strategy(const Options& options);

// Every option with its value, where it came from and what it means; read_toml reads it back.
std::string toml_text(std::string_view case_name, const Options& options);

}  // namespace tutti::train
