// CSV files: one row per line, values separated by commas, semicolons or tabs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

struct CsvOptions {
  // Label column: name, index from 0, or "none". Empty: the column called label, target, class or y, otherwise the
  // first one.
  std::string label = {};
  int threads = 0;  // 0: one per CPU
  // Columns and labels that are not entirely numeric become category codes. Requires a header line.
  bool parse_strings = false;
  // Categories of a trained model: exactly its categorical columns are parsed as strings. Unknown categories become
  // missing values; unknown labels are an error.
  StringCategories known = {};
  DType dtype = DType::kF32;  // type of the values: kF32 or kF64
};

// Reads a dense matrix with all threads.
// - Header: a first row that is not entirely numeric contains the column names.
// - Delimiter: the first of tab, semicolon and comma that occurs in the first row.
// - Quoting as in RFC 4180: quoted fields may contain delimiters and newlines; two quotes stand for one.
// - Missing values (NaN): empty fields, `NA`, `?` and `nan`.
// Throws IoError, which names file, line, column and the error; there are no partial results.
DataSet read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// Parses text in memory; `name` replaces the file name in error messages. Throws as read_csv.
DataSet parse_csv(std::string_view text, std::string_view name, const CsvOptions& options = {});

// Writes a header (label, c0, c1, ...), then the label and the features of each row. Categories are written as strings.
// Throws IoError if the file cannot be written.
void write_csv(const std::filesystem::path& path, const DataSet& data);

}  // namespace tutti::learn
