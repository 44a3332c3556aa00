// Data files of every kind, told apart by their first bytes, else by their names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

enum class FileKind : std::uint8_t { kTutti, kSvmlight, kCsv, kNpy, kNpz, kHdf5, kSnap };
std::string_view name_of(FileKind kind);
// The inverse; throws ConfigError that lists the names.
FileKind parse_file_kind(std::string_view name);

// Throws IoError when the file cannot be opened, ConfigError when neither bytes nor name tell.
FileKind kind_of(const std::filesystem::path& path);
// By the name alone, for a file that is to be written.
FileKind kind_by_name(const std::filesystem::path& path);

struct AnyFileOptions {
  std::string kind = {};   // empty: as kind_of says
  std::string label = {};  // CSV: see csv.h, for the words, too
  bool parse_strings = false;
  StringCategories known_categories = {};
  std::int64_t columns = 0;   // svmlight: 0: the largest index that occurs
  DType dtype = DType::kF32;  // of text; other files know theirs
  int threads = 0;
};

// Throws as the reader of the kind does.
DataSet read_any(const std::filesystem::path& path, const AnyFileOptions& options = {});
// Kinds that are written: own, svmlight, csv, snap. Throws ConfigError for others.
void write_any(const std::filesystem::path& path, const DataSet& data, FileKind kind);

}  // namespace tutti::learn
