// Tables as text: one row per line, numbers between commas, semicolons or tabs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

struct CsvOptions {
  // The column with the labels: its name or number from 0, "none", or empty: the one called label,
  // target, class or y, else the first.
  std::string label = {};
  int threads = 0;  // 0: one per processor
  // Columns, and labels, in which not all fields are numbers become codes of words; the first line
  // must then have the names.
  bool parse_strings = false;
  // Those that a model knows: only its columns have words. One that it does not know is missing;
  // such a label is an error.
  StringCategories known = {};
  DType dtype = DType::kF32;  // of the values: kF32 or kF64
};

// Dense, read by all threads. A first row in which not all is numbers has the names of the columns;
// the delimiter is the first of tab, semicolon, comma that it has. Quotes around a field are taken
// off; between them delimiters and newlines are part of it, and two quotes are one (RFC 4180).
// Empty fields, `NA`, `?` and `nan` are missing (NaN). Throws IoError that names file, line, column
// and what is wrong there; nothing is half-read.
DataSet read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// The same from text in memory; `name` stands for the file in errors.
DataSet parse_csv(std::string_view text, std::string_view name, const CsvOptions& options = {});

// The label first, then the columns; a first line with names (label, c0, c1, ...). Words are
// written as such.
void write_csv(const std::filesystem::path& path, const DataSet& data);

}  // namespace tutti::learn
