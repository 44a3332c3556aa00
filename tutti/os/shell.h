// Words for a shell to read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::os {

// As it is where that is safe, else in quotes.
std::string shell_word(std::string_view word);
// One line that a shell takes apart into the same words.
std::string shell_line(std::span<const std::string> words);
// The inverse for what people write in an option: words, quotes and backslashes, nothing else of a
// shell. Throws ConfigError when a quote is not closed.
std::vector<std::string> split_words(std::string_view text);

// The path of a program as a shell finds it in `path` (the value of PATH), or as it stands where it
// has a slash; "" when there is none that may be executed.
std::string find_program(const std::string& name, std::string_view path);

}  // namespace tutti::os
