// Tokenizer for CSV text with quoting as in RFC 4180. A quote has a meaning only at the beginning of a field.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::learn {

inline bool is_blank_character(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

inline std::string_view trimmed(std::string_view field) {
  while (!field.empty() && is_blank_character(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_blank_character(field.back())) field.remove_suffix(1);
  return field;
}

// Returns the end of the field that begins at `from`: its delimiter, its newline or the end of the text. Quoted fields
// may contain both, and two quotes stand for one.
inline std::size_t end_of_field(std::string_view text, std::size_t from, char delimiter,
                                bool& is_open) {
  std::size_t at = from;
  while (at < text.size() && text[at] != delimiter && is_blank_character(text[at])) ++at;
  if (at < text.size() && text[at] == '"') {
    do {
      at = text.find('"', at + 1);
      is_open = at == std::string_view::npos;
      if (is_open) return text.size();
      ++at;
    } while (at < text.size() && text[at] == '"');
  }
  while (at < text.size() && text[at] != delimiter && text[at] != '\n') ++at;
  return at;
}

// A field without its enclosing quotes; escaped quotes are still doubled.
struct CsvField {
  std::string_view text;
  bool has_quotes = false;  // contains escaped quotes
  bool is_open = false;     // the opening quote is not closed

  std::string unescaped() const {
    std::string found;
    for (std::size_t i = 0; i < text.size(); ++i) {
      found += text[i];
      if (has_quotes && text[i] == '"') ++i;
    }
    return found;
  }
};

// Removes the next field from the line; sets `has_more` if a delimiter follows it.
inline CsvField take_field(std::string_view& line, char delimiter, bool& has_more) {
  CsvField field;
  std::size_t end = std::min(line.size(), line.find(delimiter));
  if (line.substr(0, end).find('"') != std::string_view::npos)
    end = end_of_field(line, 0, delimiter, field.is_open);
  has_more = end < line.size();
  field.text = trimmed(line.substr(0, end));
  line.remove_prefix(has_more ? end + 1 : line.size());
  if (field.text.size() >= 2 && field.text.front() == '"' && field.text.back() == '"') {
    field.text = field.text.substr(1, field.text.size() - 2);
    field.has_quotes = field.text.find('"') != std::string_view::npos;
  }
  return field;
}

inline std::vector<CsvField> fields_of(std::string_view line, char delimiter) {
  std::vector<CsvField> fields;
  for (bool has_more = true; has_more;) fields.push_back(take_field(line, delimiter, has_more));
  return fields;
}

// Removes the next row from the text: one line, or several if quoted fields contain newlines.
inline std::string_view take_row(std::string_view& text, char delimiter) {
  std::size_t end = std::min(text.size(), text.find('\n'));
  if (text.substr(0, end).find('"') != std::string_view::npos) {
    bool is_open = false;
    end = end_of_field(text, 0, delimiter, is_open);
    while (end < text.size() && text[end] == delimiter)
      end = end_of_field(text, end + 1, delimiter, is_open);
  }
  const std::string_view row = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return row;
}

inline std::int64_t lines_of(std::string_view row) {
  return 1 + std::count(row.begin(), row.end(), '\n');
}

// Returns the first of tab, semicolon and comma that occurs unquoted in the first row.
inline char delimiter_of(std::string_view text) {
  bool is_quoted = false;
  std::string found;
  for (const char c : text) {
    if (c == '\n' && !is_quoted) break;
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c == ';' || c == '\t')) found += c;
  }
  return found.find('\t') != std::string::npos ? '\t' : found.empty() ? ',' : ';';
}

}  // namespace tutti::learn
