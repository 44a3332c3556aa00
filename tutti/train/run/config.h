// Configuration of a run: from the settings of the user to the values of all options, and back to a file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/train/run/options.h"

namespace tutti::train {

class Task;  // see task.h

using Settings = std::vector<std::pair<std::string, std::string>>;  // option, value as typed
// Parses settings such as "batch=32 epochs=4".
Settings settings(std::string_view text);

// Description of a case without its network, sufficient to read and check a configuration.
struct CaseInfo {
  std::string name, summary;
  OptionTable options;                       // in addition to train_options()
  std::map<std::string, Settings> defaults;  // by size; "" for all sizes
  OptionTable table() const;                 // train_options() and those of the case
  // Defaults that apply instead of those above if option `option` has `value` and the size is `size` ("" for all).
  // Later recipes win.
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

// Reads a TOML file of plain keys: `case = "hep"` and options by name. Throws ConfigError, which names the line.
Request read_toml(const std::filesystem::path& file);

// Replaces deprecated names and choices by the current ones without a warning: for options that an earlier release
// saved in a run directory. Unknown names stay.
void use_current_names(const OptionTable& table, Settings& settings);

// Options of the case. Precedence, lowest first: defaults of the table, of the case, of its size, of its recipes,
// settings. `table` must outlive the result. Throws ConfigError.
Options resolve(const CaseInfo& info, const OptionTable& table, const Settings& settings);

// Makes the paths of `data`, `staging_dir` and `model` absolute, so that a run can be used from any directory.
void make_paths_absolute(Options& options);

// True if all ranks take every step together with the strategy of the options.
bool is_synchronous(const Options& options);

// Throws ConfigError if an option is set that the strategy would ignore.
void check_strategy(const Options& options);

// All options as TOML, with value, origin and help text. read_toml reads it back.
std::string toml_text(std::string_view case_name, const Options& options);

}  // namespace tutti::train
