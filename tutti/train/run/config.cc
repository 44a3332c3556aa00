#include "tutti/train/run/config.h"

#include <fmt/format.h>
#include <string.h>

#include <toml++/toml.h>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "tutti/core/error.h"
#include "tutti/core/json_quoted.h"
#include "tutti/train/run/options.h"

namespace tutti::train {
namespace {

std::string text_of(const toml::node& node, std::string_view key) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto truth = node.value_exact<bool>()) return *truth ? "1" : "0";
  if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  throw ConfigError("DDL-1-82",
                    fmt::format("'{}' in line {} must be a string, a number or a boolean.", key,
                                node.source().begin.line));
}

std::string value_text(OptionType type, const std::string& value) {
  if (type == OptionType::kBool) return value == "0" ? "false" : "true";
  return type == OptionType::kInt || type == OptionType::kFloat ? value : json_quoted(value);
}

}  // namespace

Settings settings(std::string_view text) {
  Settings all;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t at = word.find('=');
    all.emplace_back(word.substr(0, at), word.substr(at + 1));
  }
  return all;
}

OptionTable CaseInfo::table() const {
  OptionTable all = train_options();
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

Request read_toml(const std::filesystem::path& file) {
  toml::table table;
  errno = 0;
  if (!std::ifstream(file) || std::filesystem::is_directory(file))
    throw ConfigError("DDL-1-83", fmt::format("Cannot read {}: {}.", file.string(),
                                              strerror(errno != 0 ? errno : EISDIR)));
  try {
    table = toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    throw ConfigError("DDL-1-83", fmt::format("{}, line {}: {}", file.string(),
                                              error.source().begin.line, error.description()));
  }
  Request request;
  for (const auto& [key, node] : table) {
    const std::string text = text_of(node, key.str());
    if (key == "case")
      request.case_name = text;
    else
      request.settings.emplace_back(key.str(), text);
  }
  return request;
}

void use_current_names(const OptionTable& table, Settings& settings) {
  for (auto& [name, value] : settings) {
    const OptionSpec* spec = find_option(table, name);
    if (!spec) continue;  // resolve() reports it
    name = spec->name;
    for (const auto& [old_choice, choice] : spec->choice_aliases)
      if (value == old_choice) value = choice;
  }
}

Options resolve(const CaseInfo& info, const OptionTable& table, const Settings& settings) {
  Options options(table);
  for (const auto& [name, value] : settings)
    if (name == "size") options.set(name, value, "user");
  for (const std::string& size : {std::string(), options.text("size")})
    if (const auto found = info.defaults.find(size); found != info.defaults.end())
      for (const auto& [name, value] : found->second) options.set(name, value, "case");
  auto chosen = [&](const std::string& option) {
    std::string value = options.text(option);
    for (const auto& [name, text] : settings)
      if (const OptionSpec* spec = find_option(table, name); spec && spec->name == option)
        value = text;
    return value;
  };
  for (const CaseInfo::Recipe& recipe : info.recipes)
    if (chosen(recipe.option) == recipe.value &&
        (recipe.size.empty() || recipe.size == options.text("size")))
      for (const auto& [name, value] : recipe.defaults) options.set(name, value, "case");
  for (const auto& [name, value] : settings) options.set(name, value, "user");
  // The case's default of `lag` is meant for its default strategy.
  if (!is_synchronous(options) && options.source("lag") == "case") options.set("lag", "0", "case");
  return options;
}

void make_paths_absolute(Options& options) {
  for (const OptionSpec& spec : options.table()) {
    if (spec.name != "data" && spec.name != "staging_dir" && spec.name != "model") continue;
    const std::string& path = options.text(spec.name);
    if (path.empty()) continue;
    const std::string source(options.source(spec.name));
    options.set(spec.name, std::filesystem::absolute(path).lexically_normal().string(), source);
  }
}

bool is_synchronous(const Options& options) {
  return options.choice<StrategyKind>("strategy") == StrategyKind::kSync;
}

void check_strategy(const Options& options) {
  if (is_synchronous(options)) return;
  const std::string& strategy = options.text("strategy");
  if (options.integer("lag") != 0)
    throw ConfigError(
        "DDL-1-78",
        fmt::format(
            "`lag` {} needs strategy sync: {} has no fixed delay of the gradient. Set lag=0.",
            options.integer("lag"), strategy));
  if (options.choice<UpdateScope>("update") != UpdateScope::kAll)
    throw ConfigError("DDL-1-78", fmt::format("`update` {} needs strategy sync: {} does not reduce "
                                              "gradients over all ranks. Set update=all.",
                                              options.text("update"), strategy));
}

std::string toml_text(std::string_view case_name, const Options& options) {
  std::string text = fmt::format("case = {}\n", json_quoted(case_name));
  for (const OptionSpec& spec : options.table()) {
    const std::string& value = options.text(spec.name);
    text += fmt::format("\n# {} ({})\n{} = {}\n", spec.help, options.source(spec.name), spec.name,
                        value_text(spec.type, value));
  }
  return text;
}

}  // namespace tutti::train
