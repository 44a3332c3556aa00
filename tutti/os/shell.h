// Shell quoting, word splitting and lookup in PATH.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::os {

// Quotes `word` for a POSIX shell if it needs it.
std::string shell_word(std::string_view word);
// Joins the quoted words into a command line, which a shell splits into the same words.
std::string shell_line(std::span<const std::string> words);
// The inverse, for the value of an option: handles quotes and backslashes, but no expansion or other shell syntax.
// Throws ConfigError (DDL-3-02) if a quote is not closed.
std::vector<std::string> split_words(std::string_view text);

// Finds a program in `path`, the value of PATH. A name with a slash is not looked up. Returns its path, or "" if there
// is no such executable file.
std::string find_program(const std::string& name, std::string_view path);

}  // namespace tutti::os
