// The line form that the text files of topo share: a first line `tutti <kind> 1`, then `key =
// value` lines, first those of the whole, then those of `[sections]`. `#` starts a comment. Wrong
// input throws ConfigError that names source, line and what would be right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::topo::internal {

struct SectionForm {
  std::string name;  // empty: the keys before the first section
  std::vector<std::string> required;
  std::vector<std::string> optional = {};
};

struct Form {
  std::string kind;
  std::vector<SectionForm> sections;
};

class Section {
 public:
  Section(std::string name, std::string source, int line)
      : name_(std::move(name)), source_(std::move(source)), line_(line) {}

  const std::string& name() const { return name_; }
  bool has(std::string_view key) const;
  // The value of a key that the form requires, or that `has` has found.
  const std::string& text(std::string_view key) const;
  int integer(std::string_view key, int minimum = 0) const;
  double number(std::string_view key) const;  // not negative
  std::int64_t bytes(std::string_view key) const;
  const std::string& choice(std::string_view key, const std::vector<std::string>& choices) const;
  bool yes_no(std::string_view key) const;
  std::vector<int> list(std::string_view key) const;
  std::vector<std::vector<int>> lists(std::string_view key) const;  // separated by spaces; or none

 private:
  friend class DocumentParser;
  struct Entry {
    std::string key, value;
    int line;
  };
  const Entry& entry(std::string_view key) const;
  [[noreturn]] void reject(const Entry& entry, std::string_view wanted) const;

  std::string name_, source_;
  int line_;
  std::vector<Entry> entries_;
};

struct Document {
  Section head;
  std::vector<Section> sections;
};

Document parse_document(std::string_view text, const std::string& source, const Form& form);

// The value of a line, so that what is written can be read: no line ends, no comment sign, no outer
// spaces.
std::string clean_value(std::string_view text);

}  // namespace tutti::topo::internal
