// One table per component says which options exist: name, type, default, range, help, environment
// variable. The command line, DDL_OPTIONS, the environment, Python keywords and the reference page
// are all made from it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

enum class OptionType { kBool, kInt, kFloat, kBytes, kText, kChoice };

struct OptionSpec {
  std::string name;  // snake_case, the same word everywhere
  OptionType type;
  std::string default_value;  // as the user would write it
  std::string help;           // one sentence
  std::string environment;    // variable that sets it, empty for none
  double minimum = 0;  // numbers and bytes only; minimum < maximum, or no limit when both are 0
  double maximum = 0;
  std::vector<std::string> choices = {};  // kChoice only
};

using OptionTable = std::vector<OptionSpec>;

// The values of one table: defaults, then the environment, then what `set` was given.
class Options {
 public:
  // `table` must outlive this object. Reads the environment variables of the table once, here.
  explicit Options(const OptionTable& table);

  // Checks `text` against the table and keeps it. Throws ConfigError that says what would be valid:
  // unknown name (with the nearest known one), wrong type, out of range.
  // `source` says where it came from.
  void set(std::string_view name, std::string_view text, std::string_view source = "program");

  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;  // kInt and kBytes
  double number(std::string_view name) const;         // kFloat and kInt
  const std::string& text(std::string_view name) const;
  // kChoice: the value as an enumeration whose values are those of the table, in its order.
  template <class Choice>
  Choice choice(std::string_view name) const {
    return static_cast<Choice>(choice_index(name));
  }
  bool is_default(std::string_view name) const;
  // For people: "default", the name of an environment variable, or what `set` was told.
  std::string_view source(std::string_view name) const;
  const OptionTable& table() const { return table_; }

 private:
  const OptionSpec& find(std::string_view name) const;
  std::size_t choice_index(std::string_view name) const;

  struct Value {
    std::string text, source;
  };
  const OptionTable& table_;
  std::map<std::string, Value, std::less<>> values_;
};

// The reference page of a table in Markdown: a heading and one row per option.
std::string reference_markdown(std::string_view title, const OptionTable& table);
// Lines for `--help`.
std::string help_text(const OptionTable& table);

}  // namespace tutti
