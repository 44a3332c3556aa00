// The text format of svmlight and libsvm: one row per line, `label [qid:n] index:value ... [#
// comment]`.
#pragma once

#include <filesystem>
#include <string_view>

#include "tutti/learn/data/data_set.h"

namespace tutti::learn {

struct SvmlightOptions {
  std::int64_t columns = 0;  // 0: the largest index that occurs
  // Whether indices begin with 0 or 1; kAuto: 0 if that index occurs in the file.
  enum class Base : std::uint8_t { kAuto, kZero, kOne } base = Base::kAuto;
  int threads = 0;            // 0: one per processor
  DType dtype = DType::kF32;  // of the values: kF32 or kF64
};

// Reads all rows, on all threads. When every value is 1 the matrix has no `values`. Indices of a
// row must go up. Throws IoError that names file, line and what is wrong there; nothing is
// half-read. A file without rows is wrong, too.
DataSet read_svmlight(const std::filesystem::path& path, const SvmlightOptions& options = {});

// The same from text in memory; `name` stands for the file in errors.
DataSet parse_svmlight(std::string_view text, std::string_view name,
                       const SvmlightOptions& options = {});

// Indices from 1 (libsvm's habit), values with as many digits as give the same bits back.
void write_svmlight(const std::filesystem::path& path, const DataSet& data);

}  // namespace tutti::learn
