#include "tutti/topo/internal/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tutti/core/bytes.h"
#include "tutti/core/error.h"
#include "tutti/topo/number_list.h"

namespace tutti::topo::internal {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

bool Section::has(std::string_view key) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.key == key; });
}

const Section::Entry& Section::entry(std::string_view key) const {
  return *std::ranges::find(entries_, key, &Entry::key);
}

void Section::reject(const Entry& entry, std::string_view wanted) const {
  throw ConfigError("DDL-2-12", fmt::format("{}:{}: {} = {} is not valid. Write {}.", source_,
                                            entry.line, entry.key, entry.value, wanted));
}

const std::string& Section::text(std::string_view key) const {
  return entry(key).value;
}

int Section::integer(std::string_view key, int minimum) const {
  const Entry& found = entry(key);
  int value = 0;
  const char* const last = found.value.data() + found.value.size();
  const auto [end, error] = std::from_chars(found.value.data(), last, value);
  if (error != std::errc() || end != last || value < minimum) {
    reject(found, fmt::format("a whole number of at least {}", minimum));
  }
  return value;
}

double Section::number(std::string_view key) const {
  const Entry& found = entry(key);
  double value = 0;
  const char* const last = found.value.data() + found.value.size();
  const auto [end, error] = std::from_chars(found.value.data(), last, value);
  if (error != std::errc() || end != last || !std::isfinite(value) || value < 0) {
    reject(found, "a number of at least 0, for example 3e-07");
  }
  return value;
}

std::int64_t Section::bytes(std::string_view key) const {
  const Entry& found = entry(key);
  try {
    return parse_bytes(found.value);
  } catch (const ConfigError&) {
    reject(found, "an amount of bytes, for example 32KiB or 1.5GB");
  }
}

const std::string& Section::choice(std::string_view key,
                                   const std::vector<std::string>& choices) const {
  const Entry& found = entry(key);
  if (std::ranges::find(choices, found.value) == choices.end()) {
    reject(found, fmt::to_string(fmt::join(choices, " or ")));
  }
  return found.value;
}

bool Section::yes_no(std::string_view key) const {
  return choice(key, {"yes", "no"}) == "yes";
}

std::vector<int> Section::list(std::string_view key) const {
  const Entry& found = entry(key);
  try {
    return parse_list(found.value);
  } catch (const ConfigError&) {
    reject(found, "a list of numbers, for example 0-3,8 or none");
  }
}

std::vector<std::vector<int>> Section::lists(std::string_view key) const {
  const Entry& found = entry(key);
  std::vector<std::vector<int>> lists;
  std::string_view rest = found.value;
  if (rest == "none") return lists;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    try {
      lists.push_back(parse_list(rest.substr(0, end)));
    } catch (const ConfigError&) {
      reject(found, "lists of numbers separated by spaces, for example 0,4 1,5");
    }
    rest = trimmed(rest.substr(end));
  }
  return lists;
}

class DocumentParser {
 public:
  DocumentParser(const std::string& source, const Form& form)
      : source_(source), form_(form), document_{Section("", source, 1), {}} {}

  Document parse(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view whole = text.substr(begin, end - begin);
      ++line_;
      const std::string_view content = trimmed(whole.substr(0, whole.find('#')));
      if (!content.empty()) take(content);
      begin = end + 1;
    }
    if (!first_line_seen_) take_first_line("");
    close_section(document_.head);
    for (const Section& section : document_.sections) close_section(section);
    return std::move(document_);
  }

 private:
  void take(std::string_view content) {
    if (!first_line_seen_) return take_first_line(content);
    if (content.front() == '[') return take_section(content);
    take_entry(content);
  }

  void take_first_line(std::string_view content) {
    if (content != fmt::format("tutti {} 1", form_.kind)) {
      fail("DDL-2-14", line_,
           fmt::format("the first line must be 'tutti {} 1', this is '{}'", form_.kind, content));
    }
    first_line_seen_ = true;
  }

  void take_section(std::string_view content) {
    const std::string name(trimmed(content.substr(1, content.size() - 2)));
    if (content.back() != ']' || name.empty() || !form_of(name)) {
      std::vector<std::string> names;
      for (const SectionForm& section : form_.sections) {
        if (!section.name.empty()) names.push_back("[" + section.name + "]");
      }
      fail("DDL-2-11", line_,
           fmt::format("unknown section {}; the sections are {}", content, fmt::join(names, ", ")));
    }
    document_.sections.emplace_back(name, source_, line_);
  }

  void take_entry(std::string_view content) {
    const std::size_t equals = content.find('=');
    const std::string key(trimmed(content.substr(0, equals)));
    const std::string value(equals == content.npos ? "" : trimmed(content.substr(equals + 1)));
    if (key.empty() || value.empty()) {
      fail("DDL-2-10", line_, fmt::format("'{}' is not of the form key = value", content));
    }
    Section& section = document_.sections.empty() ? document_.head : document_.sections.back();
    const SectionForm* const form = form_of(section.name());
    std::vector<std::string> known = form->required;
    known.insert(known.end(), form->optional.begin(), form->optional.end());
    if (std::ranges::find(known, key) == known.end()) {
      fail("DDL-2-11", line_,
           fmt::format("unknown key '{}' {}; the keys are {}", key, place_of(section),
                       known.empty() ? "none" : fmt::to_string(fmt::join(known, ", "))));
    }
    if (section.has(key)) fail("DDL-2-10", line_, fmt::format("'{}' is given twice", key));
    section.entries_.push_back({key, value, line_});
  }

  void close_section(const Section& section) const {
    for (const std::string& key : form_of(section.name())->required) {
      if (!section.has(key)) {
        fail("DDL-2-13", section.line_,
             fmt::format("'{}' is missing {}; add a line '{} = ...'", key, place_of(section), key));
      }
    }
  }

  static std::string place_of(const Section& section) {
    return section.name().empty() ? "before the first section" : "in [" + section.name() + "]";
  }

  const SectionForm* form_of(std::string_view name) const {
    const auto found = std::ranges::find(form_.sections, name, &SectionForm::name);
    return found == form_.sections.end() ? nullptr : &*found;
  }

  [[noreturn]] void fail(const char* code, int line, const std::string& message) const {
    throw ConfigError(code, fmt::format("{}:{}: {}.", source_, std::max(line, 1), message));
  }

  const std::string& source_;
  const Form& form_;
  Document document_;
  int line_ = 0;
  bool first_line_seen_ = false;
};

Document parse_document(std::string_view text, const std::string& source, const Form& form) {
  return DocumentParser(source, form).parse(text);
}

std::string clean_value(std::string_view text) {
  std::string value(text);
  for (char& character : value) {
    if (character == '\n' || character == '\r' || character == '#') character = ' ';
  }
  const std::string_view inner = trimmed(value);
  return inner.empty() ? "unknown" : std::string(inner);
}

}  // namespace tutti::topo::internal
