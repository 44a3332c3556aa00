// The options of the communication library: one table for DDL_OPTIONS, the environment, C++, Python
// and the docs.
#pragma once

#include <string_view>

#include "tutti/core/options.h"

namespace tutti::comm {

const OptionTable& comm_options();

// Reads an option string as the C API and DDL_OPTIONS have it: "-mode p:2x2x1x1 -dump_iter 100".
// Throws ConfigError that says what to write. `source` is what Options::source will tell.
void apply_option_string(Options& options, std::string_view text,
                         std::string_view source = "program");

// What the environment says: the variable of each option, then DDL_OPTIONS.
Options environment_options();

}  // namespace tutti::comm
