// Option tables: the one place where a component declares its options.
//
// A row has name, type, default, help, environment variable and range. The command line, DDL_OPTIONS, environment
// variables, Python keywords and the reference pages are all derived from the table.
//
// A renamed option, variable or choice keeps its old spelling as a deprecated alias. Old spellings are accepted with a
// warning, once per process. Help lists only the current names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti {

enum class OptionType { kBool, kInt, kFloat, kBytes, kText, kChoice };

struct OptionSpec {
  std::string name;  // snake_case, the same in all interfaces
  OptionType type;
  std::string default_value;  // as the user would write it
  std::string help;           // one sentence
  std::string environment;    // variable that sets it; empty: none
  double minimum = 0;         // kInt, kFloat and kBytes; no limits if both are 0
  double maximum = 0;
  std::vector<std::string> choices = {};  // kChoice only
  // Deprecated spellings: of the name, of the environment variable, and of choices as {old, current}.
  std::vector<std::string> aliases = {};
  std::vector<std::string> environment_aliases = {};
  std::vector<std::pair<std::string, std::string>> choice_aliases = {};
};

using OptionTable = std::vector<OptionSpec>;

// Finds an option by its name or a deprecated alias; nullptr if there is none. Does not warn.
const OptionSpec* find_option(const OptionTable& table, std::string_view name);

// Logs the warning "<kind> '<old_name>' is deprecated; use '<name>'", once per process for each combination.
// Thread-safe. `kind` is for example "option".
void warn_deprecated(std::string_view kind, std::string_view old_name, std::string_view name);

// Values of the options of one table. Precedence, lowest first: defaults, environment variables, set(). Getters throw
// ConfigError (DDL-1-04) for an unknown name. Concurrent reads are safe; set() is not thread-safe.
class Options {
 public:
  // Reads the environment variables of the table, once. Throws ConfigError if one has an invalid value. `table` must
  // outlive this object.
  explicit Options(const OptionTable& table);

  // Sets an option. `source` is the origin of the value, returned by source(). Throws ConfigError, which lists what is
  // valid: DDL-1-04 for an unknown name, DDL-1-02 for a malformed byte count, DDL-1-03 for another type or range error.
  // Deprecated names and choices are stored under the current ones; the getters know only these.
  void set(std::string_view name, std::string_view text, std::string_view source = "program");

  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;  // kInt and kBytes
  double number(std::string_view name) const;         // kFloat and kInt
  const std::string& text(std::string_view name) const;
  // kChoice: the value as an enumeration whose enumerators are the choices of the table, in the same order.
  template <class Choice>
  Choice choice(std::string_view name) const {
    return static_cast<Choice>(choice_index(name));
  }
  bool is_default(std::string_view name) const;
  // Human-readable origin of the value: "default", the name of an environment variable, or the `source` of set().
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

// The reference page of a table in Markdown: a heading, and a table with one row per option. Names the aliases.
std::string reference_markdown(std::string_view title, const OptionTable& table);
// The lines for --help, one per option.
std::string help_text(const OptionTable& table);

}  // namespace tutti
