#include "tutti/learn/data/any_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "tutti/core/error.h"
#include "tutti/core/options.h"
#include "tutti/learn/data/csv.h"
#include "tutti/learn/data/data_file.h"
#include "tutti/learn/data/hdf5_file.h"
#include "tutti/learn/data/numpy_file.h"
#include "tutti/learn/data/snap_file.h"
#include "tutti/learn/data/svmlight.h"

namespace tutti::learn {
namespace {

struct Row {
  FileKind kind;
  std::string_view name;
  std::string_view magic;                   // empty: none
  std::array<std::string_view, 4> endings;  // file name extensions
};

using namespace std::string_view_literals;
constexpr std::array<Row, 7> kKinds = {{
    {FileKind::kTutti, "tutti", "TUTTIDAT"sv, {".data", ".tutti"}},
    {FileKind::kSvmlight, "svmlight", "", {".svm", ".libsvm", ".svmlight", ".txt"}},
    {FileKind::kCsv, "csv", "", {".csv", ".tsv"}},
    {FileKind::kNpy, "npy", "\x93NUMPY"sv, {".npy"}},
    {FileKind::kNpz, "npz", "PK\x03\x04"sv, {".npz"}},
    {FileKind::kHdf5, "hdf5", "\x89HDF"sv, {".h5", ".hdf5"}},
    {FileKind::kSnap, "snap", "", {".snap"}},
}};

const Row* row_by_name(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  for (const Row& row : kKinds)
    for (const std::string_view one : row.endings)
      if (!one.empty() && one == ending) return &row;
  return nullptr;
}

std::string names() {
  std::string all;
  for (const Row& row : kKinds) all += fmt::format("{}{}", all.empty() ? "" : ", ", row.name);
  return all;
}

[[noreturn]] void throw_unknown_format(const std::filesystem::path& path) {
  throw ConfigError("DDL-9-04", fmt::format("{}: cannot determine the file format from its name or "
                                            "contents. Pass the format explicitly: {}.",
                                            path.string(), names()));
}

}  // namespace

std::string_view name_of(FileKind kind) {
  for (const Row& row : kKinds)
    if (row.kind == kind) return row.name;
  return "";
}

FileKind parse_file_kind(std::string_view name) {
  if (name == "own") {
    warn_deprecated("file format", name, "tutti");
    name = "tutti";
  }
  for (const Row& row : kKinds)
    if (row.name == name) return row.kind;
  throw ConfigError("DDL-9-04",
                    fmt::format("Unknown file format '{}'. Valid values: {}.", name, names()));
}

FileKind kind_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    throw IoError("DDL-9-02", fmt::format("{}: cannot open the file: {}.", path.string(),
                                          std::strerror(file ? EISDIR : errno)));
  std::string first(8, '\0');
  file.read(first.data(), 8);
  for (const Row& row : kKinds)
    if (!row.magic.empty() && first.starts_with(row.magic)) return row.kind;
  if (const Row* row = row_by_name(path); row != nullptr && row->magic.empty()) return row->kind;
  throw_unknown_format(path);
}

FileKind kind_by_name(const std::filesystem::path& path) {
  const Row* row = row_by_name(path);
  if (row == nullptr) throw_unknown_format(path);
  return row->kind;
}

DataSet read_any(const std::filesystem::path& path, const AnyFileOptions& options) {
  switch (options.kind.empty() ? kind_of(path) : parse_file_kind(options.kind)) {
    case FileKind::kSvmlight:
      return read_svmlight(
          path, {.columns = options.columns, .threads = options.threads, .dtype = options.dtype});
    case FileKind::kCsv:
      return read_csv(path, {.label = options.label,
                             .threads = options.threads,
                             .parse_strings = options.parse_strings,
                             .known = options.known_categories,
                             .dtype = options.dtype});
    case FileKind::kNpy: return read_npy(path);
    case FileKind::kNpz: return read_npz(path);
    case FileKind::kHdf5: return read_hdf5(path);
    case FileKind::kSnap: return read_snap(path);
    default: break;
  }
  const DataFile file(path);
  return file.read(0, file.chunks());
}

void write_any(const std::filesystem::path& path, const DataSet& data, FileKind kind) {
  switch (kind) {
    case FileKind::kTutti: return write_data_file(path, data);
    case FileKind::kSvmlight: return write_svmlight(path, data);
    case FileKind::kCsv: return write_csv(path, data);
    case FileKind::kSnap: return write_snap(path, data);
    default:
      throw ConfigError("DDL-9-04", fmt::format("Cannot write files of format {}. Formats that can "
                                                "be written: tutti, svmlight, csv, snap.",
                                                name_of(kind)));
  }
}

}  // namespace tutti::learn
