#include "tutti/os/shell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "tutti/core/error.h"

namespace tutti::os {

std::string shell_word(std::string_view word) {
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("-_./:=,+@%^").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  char quote = 0;
  bool is_inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c))) {
      is_inside = false;
      continue;
    }
    if (!is_inside) words.emplace_back();
    is_inside = true;
    if (quote != 0 ? c == quote : (c == '"' || c == '\'')) {
      quote = quote == 0 ? c : 0;
    } else if (c == '\\' && quote != '\'' && at + 1 < text.size()) {
      words.back() += text[++at];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) {
    throw ConfigError("DDL-3-02", fmt::format("A quote is not closed in: {}", text));
  }
  return words;
}

std::string find_program(const std::string& name, std::string_view path) {
  const auto is_program = [](const std::string& candidate) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(candidate, ignored) &&
           ::access(candidate.c_str(), X_OK) == 0;
  };
  if (name.empty()) return "";
  if (name.find('/') != name.npos) return is_program(name) ? name : "";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder(path.substr(begin, end - begin));
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_program(candidate)) return candidate;
    begin = end + 1;
  }
  return "";
}

}  // namespace tutti::os
