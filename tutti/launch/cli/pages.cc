// Help, man page, shell completion and reference page, generated from the table of options.
#include <fmt/format.h>

#include <algorithm>

#include "tutti/core/error.h"
#include "tutti/launch/cli/options.h"

namespace tutti::launch {
namespace {

constexpr const char* kUsage = "ddlrun [options] program [arguments]";
constexpr const char* kSummary = "start a parallel program on one or many hosts";

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', name == "no_ddloptions" ? '_' : '-');
  return (name.size() == 1 ? "-" : "--") + name;
}

// "--host, -H LIST"
std::string spelling(const Argument& argument) {
  std::string text = dashed(argument.option.name);
  for (const std::string& alias : argument.aliases) text += ", " + dashed(alias);
  return argument.value.empty() ? text : text + " " + argument.value;
}

template <class Each>
void for_each(Each each) {
  for (const ArgumentGroup& group : argument_groups()) {
    for (const Argument& argument : group.arguments) each(group, argument);
  }
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    begin = end + 1;
  }
  return out;
}

std::string help() {
  constexpr std::size_t kIndent = 34, kWidth = 100;
  std::string text = fmt::format("usage: {}\n", kUsage);
  std::string title;
  for_each([&](const ArgumentGroup& group, const Argument& argument) {
    if (group.title != title) text += fmt::format("\n{}:\n", title = group.title);
    const std::string left = "  " + spelling(argument);
    text += left;
    text += left.size() + 2 > kIndent ? "\n" + std::string(kIndent, ' ')
                                      : std::string(kIndent - left.size(), ' ');
    text += wrapped(argument.option.help, kIndent, kWidth) + "\n";
  });
  return text +
         "\nOptions may have one dash or two. The first argument that is not an option is the "
         "program.\n"
         "Exit code: that of the first rank that failed, 2 if nothing was started, 124 after\n"
         "--timeout, 130 after Ctrl-C.\n";
}

std::string roff(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string man(std::string_view version) {
  std::string text = fmt::format(
      ".TH DDLRUN 1 \"\" \"Tutti {}\" \"User Commands\"\n.SH NAME\nddlrun \\- {}\n.SH SYNOPSIS\n"
      ".B {}\n.SH DESCRIPTION\nDetects the topology of the hosts, checks them, distributes the "
      "ranks over sockets and cores, and runs mpirun under supervision.\n",
      version, kSummary, roff(kUsage));
  std::string title;
  for_each([&](const ArgumentGroup& group, const Argument& argument) {
    if (group.title != title) text += fmt::format(".SH \"{}\"\n", title = group.title);
    text += fmt::format(".TP\n.B {}\n{}\n", roff(spelling(argument)), roff(argument.option.help));
  });
  return text +
         ".SH \"EXIT STATUS\"\nExit code of the first rank that failed (128 + signal if it was "
         "killed); "
         "2 if nothing was started; 124 after \\-\\-timeout; 130 after Ctrl\\-C.\n";
}

std::string completion() {
  std::string all_names, files, choices;
  for_each([&](const ArgumentGroup&, const Argument& argument) {
    std::string names = dashed(argument.option.name);
    for (const std::string& alias : argument.aliases) names += "|" + dashed(alias);
    std::string spaced = names;
    std::ranges::replace(spaced, '|', ' ');
    all_names += (all_names.empty() ? "" : " ") + spaced;
    std::string one_dash;  // the text before the cursor is compared without its second dash
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (names.compare(at, 2, "--") != 0) one_dash += names[at];
    }
    if (argument.value == "FILE") files += (files.empty() ? "" : "|") + one_dash;
    if (!argument.option.choices.empty())
      choices += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                             one_dash, fmt::join(argument.option.choices, " "));
  });
  return fmt::format(
      "_ddlrun() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} "
      "before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  case ${{before/#--/-}} in\n    {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
      "    -log-dir) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n{}  esac\n"
      "  case $word in\n    -*) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n"
      "    *) COMPREPLY=($(compgen -c -f -- \"$word\")) ;;\n  esac\n}}\n"
      "complete -o default -F _ddlrun ddlrun\n",
      files, choices, all_names);
}

std::string reference() {
  std::string text =
      "# Options of ddlrun\n\nGenerated by `ddlrun --print reference`. Options may have one dash "
      "or two, and - or _ in names.\n";
  std::string title;
  for_each([&](const ArgumentGroup& group, const Argument& argument) {
    if (group.title != title)
      text += fmt::format("\n## {}\n| option | default | meaning |\n|---|---|---|\n",
                          title = group.title);
    const std::string& value = argument.option.default_value;
    const bool has_default = !value.empty() && argument.option.type != OptionType::kBool;
    text += fmt::format("| `{}` | {} | {} |\n", spelling(argument),
                        has_default ? "`" + value + "`" : "", argument.option.help);
  });
  return text;
}

}  // namespace

std::string page(std::string_view what, std::string_view version) {
  if (what == "help") return help();
  if (what == "man") return man(version);
  if (what == "completion") return completion();
  if (what == "reference") return reference();
  throw ConfigError("DDL-3-02", fmt::format("Unknown page '{}'. Valid pages: help, man, "
                                            "completion, reference.",
                                            what));
}

}  // namespace tutti::launch
