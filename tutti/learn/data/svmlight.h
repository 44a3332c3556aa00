// Text format of svmlight and libsvm: one row per line, `label [qid:n] index:value ... [# comment]`.
#pragma once

#include <filesystem>
#include <string_view>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

struct SvmlightOptions {
  std::int64_t columns = 0;  // number of columns; 0: largest index that occurs
  // First index; kAuto: 0 if index 0 occurs in the file, otherwise 1.
  enum class Base : std::uint8_t { kAuto, kZero, kOne } base = Base::kAuto;
  int threads = 0;            // 0: one per CPU
  DType dtype = DType::kF32;  // type of the values: kF32 or kF64
};

// Reads all rows with all threads. If every value is 1, the matrix has no `values`. The indices of a row must increase.
// Throws IoError, which names file, line and error; a file without rows is an error too. There are no partial results.
DataSet read_svmlight(const std::filesystem::path& path, const SvmlightOptions& options = {});

// Parses text in memory; `name` replaces the file name in error messages. Throws as read_svmlight.
DataSet parse_svmlight(std::string_view text, std::string_view name,
                       const SvmlightOptions& options = {});

// Writes one-based indices, and values that read back bitwise identical. Throws IoError if the file cannot be written.
void write_svmlight(const std::filesystem::path& path, const DataSet& data);

}  // namespace tutti::learn
