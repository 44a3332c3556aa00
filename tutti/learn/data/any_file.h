// Readers and writers of data files in any supported format. The format is detected by the first bytes of a file,
// otherwise by the extension of its name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

enum class FileKind : std::uint8_t { kTutti, kSvmlight, kCsv, kNpy, kNpz, kHdf5, kSnap };
std::string_view name_of(FileKind kind);
// The inverse of name_of. Accepts "own", the deprecated name of kTutti, with a warning. Throws ConfigError, which lists
// the valid names.
FileKind parse_file_kind(std::string_view name);

// Throws IoError if the file cannot be opened, ConfigError if its format cannot be determined.
FileKind kind_of(const std::filesystem::path& path);
// Determines the format by the name alone, for a file to be written.
FileKind kind_by_name(const std::filesystem::path& path);

struct AnyFileOptions {
  std::string kind = {};   // file format as in parse_file_kind; empty: kind_of(path)
  std::string label = {};  // CSV: label column, see CsvOptions::label
  bool parse_strings = false;
  StringCategories known_categories = {};
  std::int64_t columns = 0;   // svmlight: number of columns; 0: largest index that occurs
  DType dtype = DType::kF32;  // text formats: type of the values; binary formats have their own
  int threads = 0;
};

// Throws as the reader of the format does.
DataSet read_any(const std::filesystem::path& path, const AnyFileOptions& options = {});
// Writes a file of kind kTutti, kSvmlight, kCsv or kSnap. Throws ConfigError for other kinds.
void write_any(const std::filesystem::path& path, const DataSet& data, FileKind kind);

}  // namespace tutti::learn
