#include "tutti/learn/data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/internal/csv_fields.h"
#include "tutti/learn/data/internal/numbers.h"
#include "tutti/learn/data/internal/text_writer.h"
#include "tutti/learn/data/mapped_file.h"

namespace tutti::learn {
namespace {

constexpr std::size_t kTextChunkBytes = 4 << 20;

bool is_missing(std::string_view field) {
  return field.empty() || field == "NA" || field == "?" || field == "nan" || field == "NaN";
}

// Returns whether the field is a number or missing; missing values are NaN.
bool read_field(std::string_view field, double& value) {
  value = std::numeric_limits<double>::quiet_NaN();
  if (is_missing(field)) return true;
  return read_number(field.data(), field.data() + field.size(), value) ==
         field.data() + field.size();
}

bool is_blank(std::string_view line) {
  return trimmed(line).empty();
}

// Column layout, from the first line and the options.
struct Layout {
  char delimiter = ',';
  std::int64_t columns = 0;  // including the label column
  std::int64_t label = -1;   // index of the label column; -1: none
  bool has_names = false;
  bool parse_strings = false;
  std::vector<char> is_categorical = {};  // columns known to be categorical

  // Index of a column among the features.
  std::size_t feature_of(std::int64_t column) const {
    return static_cast<std::size_t>(column - (label >= 0 && column > label ? 1 : 0));
  }
};

std::int64_t find_label(const std::vector<std::string>& names, bool has_names,
                        const std::string& wanted, std::string_view file) {
  static constexpr std::array<std::string_view, 4> kUsual = {"label", "target", "class", "y"};
  if (wanted == "none") return -1;
  for (std::size_t i = 0; has_names && i < names.size(); ++i) {
    const bool is_usual = std::find(kUsual.begin(), kUsual.end(), names[i]) != kUsual.end();
    if (wanted.empty() ? is_usual : names[i] == wanted) return static_cast<std::int64_t>(i);
  }
  std::int64_t number = 0;
  const char* end = wanted.data() + wanted.size();
  const bool is_number = std::from_chars(wanted.data(), end, number).ptr == end;
  if (wanted.empty() ||
      (is_number && number >= 0 && number < static_cast<std::int64_t>(names.size())))
    return number;
  throw ConfigError("DDL-9-04",
                    fmt::format("{}: there is no label column '{}' among its {} columns. Pass a "
                                "column name, an index from 0, or none.",
                                file, wanted, names.size()));
}

Layout layout_of(std::string_view text, std::string_view name, const CsvOptions& options) {
  while (!text.empty() && is_blank(text.substr(0, text.find('\n'))))
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  Layout layout;
  layout.delimiter = delimiter_of(text);
  const std::vector<CsvField> fields =
      fields_of(take_row(text, layout.delimiter), layout.delimiter);
  layout.columns = static_cast<std::int64_t>(fields.size());
  double ignored = 0;
  layout.has_names = std::any_of(fields.begin(), fields.end(),
                                 [&](const CsvField& f) { return !read_field(f.text, ignored); });
  std::vector<std::string> names;
  for (const CsvField& field : fields) names.push_back(field.unescaped());
  layout.label = find_label(names, layout.has_names, options.label, name);
  layout.parse_strings = options.parse_strings && options.known.empty() && layout.has_names;
  layout.is_categorical.resize(fields.size());
  for (std::int64_t column = 0; column < layout.columns; ++column) {
    const std::size_t feature = layout.feature_of(column);
    const auto& categories = options.known.columns;
    layout.is_categorical[column] =
        column == layout.label ? !options.known.labels.empty()
                               : feature < categories.size() && !categories[feature].empty();
  }
  return layout;
}

// Lines parsed by one thread.
template <class T>
struct Chunk {
  std::string_view text;
  std::vector<T> values;
  std::vector<double> labels;
  std::int64_t lines = 0;
  std::string error;              // error in line `lines` of the chunk; empty: none
  std::vector<char> has_strings;  // columns with a field that is not a number
};

template <class T>
void read_row(std::string_view line, const Layout& layout, Chunk<T>& chunk) {
  bool has_more = true;
  std::int64_t column = 0;
  for (; has_more && column < layout.columns; ++column) {
    const auto [field, has_quotes, is_open] = take_field(line, layout.delimiter, has_more);
    if (is_open) {
      chunk.error = fmt::format("column {}: the opening quote is not closed", column);
      return;
    }
    double value = 0;
    const bool is_string = !read_field(field, value) || std::isinf(value);
    if (layout.is_categorical[column] != 0 ||
        (is_string && layout.parse_strings)) {  // set_codes() sets the code
      chunk.has_strings[column] = 1;
      if (column == layout.label)
        chunk.labels.push_back(0);
      else
        chunk.values.push_back(std::numeric_limits<T>::quiet_NaN());
      continue;
    }
    if (is_string) {
      chunk.error = fmt::format("column {}: '{}' is not a number", column, field.substr(0, 40));
      return;
    }
    if (column == layout.label) {
      if (std::isnan(value)) chunk.error = fmt::format("column {}: the label is missing", column);
      chunk.labels.push_back(value);
    } else if (std::abs(value) > static_cast<double>(std::numeric_limits<T>::max())) {
      chunk.error = fmt::format("column {}: '{}' is too large for {}", column, field.substr(0, 40),
                                name_of(DTypeOf<T>::value));
    } else {
      chunk.values.push_back(static_cast<T>(value));
    }
  }
  if (chunk.error.empty() && (has_more || column != layout.columns))
    chunk.error = fmt::format("there are {} {} columns", has_more ? "more than" : "only",
                              has_more ? layout.columns : column);
}

template <class T>
void read_chunk(const Layout& layout, Chunk<T>& chunk) {
  chunk.has_strings.resize(layout.columns);
  for (std::string_view rest = chunk.text; !rest.empty() && chunk.error.empty();) {
    ++chunk.lines;
    const std::string_view row = take_row(rest, layout.delimiter);
    if (!is_blank(row)) read_row(row, layout, chunk);
    if (chunk.error.empty()) chunk.lines += lines_of(row) - 1;
  }
}

// Returns the fields of these columns, row by row.
std::vector<std::string> strings_of(const Layout& layout, const std::vector<std::int64_t>& columns,
                                    std::string_view text) {
  std::vector<std::string> strings;
  while (!text.empty()) {
    const std::string_view row = take_row(text, layout.delimiter);
    if (is_blank(row)) continue;
    const auto fields = fields_of(row, layout.delimiter);
    for (const std::int64_t column : columns) strings.push_back(fields[column].unescaped());
  }
  return strings;
}

// Returns the distinct non-missing strings of column `which` of `count`, ascending.
std::vector<std::string> distinct(const std::vector<std::vector<std::string>>& chunks,
                                  std::size_t which, std::size_t count) {
  std::set<std::string_view> found;
  for (const auto& strings : chunks)
    for (std::size_t i = which; i < strings.size(); i += count)
      if (!is_missing(strings[i])) found.insert(strings[i]);
  return {found.begin(), found.end()};
}

// Replaces strings by their category codes.
template <class T>
void set_codes(const std::vector<Chunk<T>>& chunks, const Layout& layout, std::string_view name,
               const CsvOptions& options, Threads& threads, DataSet& data, T* values) {
  std::vector<std::int64_t> columns;
  for (std::int64_t column = 0; column < layout.columns; ++column)
    if (std::any_of(chunks.begin(), chunks.end(),
                    [&](const Chunk<T>& chunk) { return chunk.has_strings[column] != 0; }))
      columns.push_back(column);
  if (columns.empty()) return;
  std::vector<std::vector<std::string>> strings(chunks.size());
  threads.run(static_cast<std::int64_t>(chunks.size()),
              [&](std::int64_t i) { strings[i] = strings_of(layout, columns, chunks[i].text); });
  data.categories = options.known;
  data.categories.columns.resize(data.features.columns);
  for (std::size_t which = 0; which < columns.size(); ++which) {
    const bool is_label = columns[which] == layout.label;
    const std::size_t feature = layout.feature_of(columns[which]);
    auto& known = is_label ? data.categories.labels : data.categories.columns[feature];
    if (known.empty()) known = distinct(strings, which, columns.size());
    std::size_t row = 0;
    for (const auto& some : strings)
      for (std::size_t i = which; i < some.size(); i += columns.size(), ++row) {
        const auto position = std::lower_bound(known.begin(), known.end(), some[i]);
        const bool is_known = position != known.end() && *position == some[i];
        if (is_label && !is_known)
          throw IoError("DDL-9-03",
                        fmt::format("{}: row {}: '{}' is not a label of the training data.", name,
                                    row, some[i].substr(0, 40)));
        if (is_label)
          data.labels[row] = static_cast<double>(position - known.begin());
        else if (is_known)
          values[row * static_cast<std::size_t>(data.features.columns) + feature] =
              static_cast<T>(position - known.begin());
      }
  }
}

// Splits the text into chunks of complete rows. Whether a newline ends a row depends on all quotes before it, so text
// with quotes is scanned sequentially.
template <class T>
std::vector<Chunk<T>> split_into_chunks(std::string_view text, char delimiter) {
  const bool has_quotes = text.find('"') != std::string_view::npos;
  std::vector<Chunk<T>> chunks;
  while (!text.empty()) {
    std::string_view rest = text;
    if (!has_quotes && text.size() > kTextChunkBytes) rest.remove_prefix(kTextChunkBytes - 1);
    do take_row(rest, delimiter);
    while (!rest.empty() && text.size() - rest.size() < kTextChunkBytes);
    chunks.emplace_back().text = text.substr(0, text.size() - rest.size());
    text = rest;
  }
  return chunks;
}

template <class T>
DataSet parse(std::string_view text, std::string_view name, const CsvOptions& options) {
  const Layout layout = layout_of(text, name, options);
  std::int64_t line = 0;
  for (bool is_named = layout.has_names; is_named;) {
    const std::string_view row = take_row(text, layout.delimiter);
    line += lines_of(row);
    is_named = is_blank(row);
  }
  std::vector<Chunk<T>> chunks = split_into_chunks<T>(text, layout.delimiter);
  Threads threads(options.threads);
  threads.run(static_cast<std::int64_t>(chunks.size()),
              [&](std::int64_t i) { read_chunk(layout, chunks[i]); });
  std::size_t count = 0;
  for (const Chunk<T>& chunk : chunks) {
    line += chunk.lines;
    count += chunk.values.size();
    if (!chunk.error.empty())
      throw IoError("DDL-9-03", fmt::format("{}:{}: {}.", name, line, chunk.error));
  }
  auto values = std::make_shared<std::vector<T>>();
  values->reserve(count);
  DataSet data;
  for (Chunk<T>& chunk : chunks) {
    values->insert(values->end(), chunk.values.begin(), chunk.values.end());
    data.labels.insert(data.labels.end(), chunk.labels.begin(), chunk.labels.end());
    chunk.values = {};
    chunk.labels = {};
  }
  const std::int64_t columns = layout.columns - (layout.label >= 0 ? 1 : 0);
  const std::int64_t rows = layout.label >= 0 ? static_cast<std::int64_t>(data.labels.size())
                            : columns > 0     ? static_cast<std::int64_t>(count) / columns
                                              : 0;
  if (rows == 0) throw IoError("DDL-9-03", fmt::format("{}: the file has no rows.", name));
  data.features = {.dtype = DTypeOf<T>::value,
                   .rows = rows,
                   .columns = columns,
                   .values = values->data(),
                   .row_stride = columns};
  data.features.owner = values;
  set_codes(chunks, layout, name, options, threads, data, values->data());
  return data;
}

// Quotes a field as RFC 4180 requires.
std::string quoted(const std::string& field) {
  if (field.find_first_of(",;\t\"\r\n ") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

std::string field_text(double value, bool is_single, const std::vector<std::string>& categories) {
  if (categories.empty())
    return is_single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  return std::isnan(value) ? "" : quoted(categories.at(static_cast<std::size_t>(value)));
}

}  // namespace

DataSet parse_csv(std::string_view text, std::string_view name, const CsvOptions& options) {
  return options.dtype == DType::kF64 ? parse<double>(text, name, options)
                                      : parse<float>(text, name, options);
}

DataSet read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  const MappedFile file(path);
  return parse_csv(file.text(), path.string(), options);
}

void write_csv(const std::filesystem::path& path, const DataSet& data) {
  check_lengths(data);
  const Matrix m = to_storage(data.features, Storage::kDense);
  TextWriter file(path);
  const bool has_labels = !data.labels.empty();
  if (has_labels) file.print("label{}", m.columns > 0 ? "," : "\n");
  for (std::int64_t j = 0; j < m.columns; ++j)
    file.print("c{}{}", j, j + 1 < m.columns ? "," : "\n");
  const bool is_single = m.dtype == DType::kF32;
  const std::vector<std::string> numbers;
  const auto categories_at = [&](std::int64_t j) -> const std::vector<std::string>& {
    const auto column = static_cast<std::size_t>(j);
    return column < data.categories.columns.size() ? data.categories.columns[column] : numbers;
  };
  for (std::int64_t row = 0; row < m.rows; ++row) {
    if (has_labels)
      file.print("{}{}", field_text(data.labels[row], false, data.categories.labels),
                 m.columns > 0 ? "," : "\n");
    for (std::int64_t j = 0; j < m.columns; ++j) {
      const std::int64_t offset = row * m.row_stride + j;
      const double value = is_single
                               ? static_cast<double>(static_cast<const float*>(m.values)[offset])
                               : static_cast<const double*>(m.values)[offset];
      file.print("{}{}", field_text(value, is_single, categories_at(j)),
                 j + 1 < m.columns ? ',' : '\n');
    }
  }
  file.finish();
}

}  // namespace tutti::learn
