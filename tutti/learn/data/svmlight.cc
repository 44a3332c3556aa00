#include "tutti/learn/data/svmlight.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/internal/numbers.h"
#include "tutti/learn/data/internal/sparse_storage.h"
#include "tutti/learn/data/internal/text_writer.h"
#include "tutti/learn/data/mapped_file.h"

namespace tutti::learn {
namespace {

constexpr std::size_t kChunkBytes = 4 << 20;

// Lines parsed by one thread. Indices stay as in the text until the base is known.
template <class T>
struct Chunk {
  SparseRowsOf<T> rows;
  std::vector<double> labels;
  std::int32_t smallest = std::numeric_limits<std::int32_t>::max(), largest = -1;
  std::int64_t lines = 0;
  std::string error;  // error in line `lines` of the chunk; empty: none
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

const char* skip_spaces(const char* at, const char* end) {
  while (at < end && is_space(*at)) ++at;
  return at;
}

std::string excerpt(const char* at, const char* end) {
  const char* stop = std::find_if(at, end, is_space);
  return std::string(at, std::min<std::ptrdiff_t>(stop - at, 40));
}

// Parses one `index:value`. Returns its end, or nullptr with the error in the chunk.
template <class T>
const char* read_entry(const char* at, const char* end, std::int64_t& previous, Chunk<T>& chunk) {
  std::int64_t index = 0;
  const auto [colon, wrong] = std::from_chars(at, end, index);
  double value = 0;
  const char* stop = nullptr;
  if (wrong == std::errc() && colon < end && *colon == ':')
    stop = read_number(colon + 1, end, value);
  if (stop == nullptr || (stop < end && !is_space(*stop))) {
    chunk.error = fmt::format("'{}' is not index:value", excerpt(at, end));
  } else if (index < 0 || index > std::numeric_limits<std::int32_t>::max() - 1) {
    chunk.error = fmt::format(
        "index {} is outside of 0..2147483646. Renumber those that occur, or hash them to fewer",
        index);
  } else if (index <= previous) {
    chunk.error =
        fmt::format("index {} follows {}; the indices of a row must increase", index, previous);
  } else if (!std::isfinite(value) || std::abs(value) > std::numeric_limits<T>::max()) {
    chunk.error = fmt::format("the value of '{}' is not finite in {}", excerpt(at, end),
                              name_of(DTypeOf<T>::value));
  } else {
    previous = index;
    chunk.rows.add(static_cast<std::int32_t>(index), static_cast<T>(value));
    return stop;
  }
  return nullptr;
}

// Returns whether the line is valid. Empty lines and comments add no row.
template <class T>
bool read_line(const char* at, const char* end, Chunk<T>& chunk) {
  end = std::find(at, end, '#');
  at = skip_spaces(at, end);
  if (at == end) return true;
  double label = 0;
  const char* stop = read_number(at, end, label);
  if (stop == nullptr || (stop < end && !is_space(*stop)) || !std::isfinite(label)) {
    chunk.error = fmt::format("'{}' is not a label", excerpt(at, end));
    return false;
  }
  chunk.labels.push_back(label);
  std::int64_t previous = -1;
  for (at = skip_spaces(stop, end); at < end; at = skip_spaces(at, end)) {
    if (end - at > 4 && std::memcmp(at, "qid:", 4) == 0) {
      at = std::find_if(at, end, is_space);
      continue;
    }
    const std::int64_t before = previous;
    at = read_entry(at, end, previous, chunk);
    if (at == nullptr) return false;
    if (before < 0) chunk.smallest = std::min(chunk.smallest, static_cast<std::int32_t>(previous));
  }
  chunk.largest = std::max(chunk.largest, static_cast<std::int32_t>(previous));
  chunk.rows.end_row();
  return true;
}

template <class T>
void read_chunk(std::string_view text, Chunk<T>& chunk) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const void* newline = std::memchr(at, '\n', end - at);
    const char* stop = newline != nullptr ? static_cast<const char*>(newline) : end;
    ++chunk.lines;
    if (!read_line(at, stop, chunk)) return;
    at = stop + 1;
  }
}

// Splits the text into pieces of complete lines.
std::vector<std::string_view> split_at_lines(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t size = text.size();
    if (size > kChunkBytes) size = std::min(size, text.find('\n', kChunkBytes - 1));
    if (size < text.size()) ++size;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

template <class T>
void raise_first_error(const std::vector<Chunk<T>>& chunks, std::string_view name) {
  std::int64_t line = 0;
  for (const Chunk<T>& chunk : chunks) {
    line += chunk.lines;
    if (!chunk.error.empty())
      throw IoError("DDL-9-03", fmt::format("{}:{}: {}.", name, line, chunk.error));
  }
}

template <class T>
bool begins_with_one(const std::vector<Chunk<T>>& chunks, SvmlightOptions::Base base) {
  if (base != SvmlightOptions::Base::kAuto) return base == SvmlightOptions::Base::kOne;
  return std::none_of(chunks.begin(), chunks.end(),
                      [](const Chunk<T>& c) { return c.smallest == 0; });
}

// Concatenates the rows of the chunks; frees each chunk after it is copied.
template <class T>
DataSet join(std::vector<Chunk<T>> chunks, std::int64_t columns, bool has_base_one) {
  DataSet data;
  SparseRowsOf<T> rows;
  for (Chunk<T>& chunk : chunks) {
    if (has_base_one)
      for (std::int32_t& index : chunk.rows.indices) --index;
    if (rows.indices.empty() && rows.offsets.size() == 1) {
      rows = std::move(chunk.rows);
    } else {
      rows.append(chunk.rows);
    }
    data.labels.insert(data.labels.end(), chunk.labels.begin(), chunk.labels.end());
    chunk = Chunk<T>();
  }
  data.features = std::move(rows).build(columns);
  return data;
}

template <class T>
DataSet parse(std::string_view text, std::string_view name, const SvmlightOptions& options) {
  const std::vector<std::string_view> pieces = split_at_lines(text);
  std::vector<Chunk<T>> chunks(pieces.size());
  Threads(pieces.size() > 1 ? options.threads : 1)
      .run(static_cast<std::int64_t>(pieces.size()),
           [&](std::int64_t i) { read_chunk(pieces[i], chunks[i]); });
  raise_first_error(chunks, name);
  const bool has_base_one = begins_with_one(chunks, options.base);
  std::int64_t columns = options.columns;
  for (const Chunk<T>& chunk : chunks) {
    const std::int64_t needed = chunk.largest + (has_base_one ? 0 : 1);
    if (options.columns > 0 && needed > options.columns)
      throw IoError("DDL-9-03",
                    fmt::format("{}: the file has {} columns; at most {} were expected.", name,
                                needed, options.columns));
    if (has_base_one && chunk.smallest == 0)
      throw IoError(
          "DDL-9-03",
          fmt::format("{}: index 0 occurs, but the indices were declared one-based.", name));
    columns = std::max(columns, needed);
  }
  return join(std::move(chunks), columns, has_base_one);
}

}  // namespace

DataSet parse_svmlight(std::string_view text, std::string_view name,
                       const SvmlightOptions& options) {
  check_columns(options.columns);
  return options.dtype == DType::kF64 ? parse<double>(text, name, options)
                                      : parse<float>(text, name, options);
}

DataSet read_svmlight(const std::filesystem::path& path, const SvmlightOptions& options) {
  const MappedFile file(path);
  DataSet data = parse_svmlight(file.text(), path.string(), options);
  if (data.features.rows == 0)
    throw IoError("DDL-9-03", fmt::format("{}: the file has no rows.", path.string()));
  return data;
}

void write_svmlight(const std::filesystem::path& path, const DataSet& data) {
  check_lengths(data);
  Threads threads(1);
  const Matrix rows = to_storage(data.features, Storage::kCsr, threads);
  TextWriter out(path);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    out.print("{}", data.labels.empty() ? 0.0 : data.labels[row]);
    for (std::int64_t i = rows.offsets[row]; i < rows.offsets[row + 1]; ++i) {
      if (rows.dtype == DType::kF32) {
        out.print(" {}:{}", rows.indices[i] + 1, value_at<float>(rows, row, i));
      } else {
        out.print(" {}:{}", rows.indices[i] + 1, value_at<double>(rows, row, i));
      }
    }
    out.print("\n");
  }
  out.finish();
}

}  // namespace tutti::learn
