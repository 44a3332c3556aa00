// Options of the communication library: one table for DDL_OPTIONS, the environment, C++, Python and the reference page.
#pragma once

#include <string_view>

#include "tutti/core/options.h"

namespace tutti::comm {

const OptionTable& comm_options();

// Applies an option string in the form of the C API and DDL_OPTIONS: "-mode p:2x2x1x1 -dump_iter 100". Throws
// ConfigError if it is invalid. `source`: result of Options::source for these options.
void apply_option_string(Options& options, std::string_view text,
                         std::string_view source = "program");

// Options from the environment: the variable of each option, then DDL_OPTIONS.
Options environment_options();

}  // namespace tutti::comm
