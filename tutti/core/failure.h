// Message and exit code for an exception that reaches main().
#pragma once

#include <exception>
#include <string>

namespace tutti {

// The message to print: what(), or, for a std::filesystem::filesystem_error, DDL-7-91 with the path and what to do.
std::string failure_text(const std::exception& error);
// 2 for ConfigError, 1 for all others.
int exit_code(const std::exception& error);

}  // namespace tutti
