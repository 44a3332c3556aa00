// Residency of mapped files: prefetch and release of pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn::tree {

enum class Advice : std::uint8_t {
  kPrefetch,  // start reading (MADV_WILLNEED)
  kRelease,   // remove from the resident set; the file keeps the content
};

// Applies `advice` to `bytes` from `begin` on in the mapping `all`, which must be backed by a file: the content of
// other memory would be lost.
void advise(const void* all, const void* begin, std::int64_t bytes, Advice advice);

// Maps `bytes` of an unnamed file for reading and writing; the file is deleted with the mapping. Space is reserved, so
// later writes cannot fail. Throws IoError (DDL-9-26).
void* map_unnamed_file(const std::filesystem::path& folder, std::size_t bytes);

// Rows of a matrix of the caller, mapped or in plain memory. Releases only unmodified pages of a file.
class MappedRows {
 public:
  explicit MappedRows(const Matrix& matrix);

  void prefetch(std::int64_t begin, std::int64_t end) const {
    advise_rows(begin, end, Advice::kPrefetch);
  }
  void release(std::int64_t begin, std::int64_t end) const {
    advise_rows(begin, end, Advice::kRelease);
  }
  // Approximate number of rows in `bytes`.
  std::int64_t rows_of(std::int64_t bytes) const;

 private:
  void advise_rows(std::int64_t begin, std::int64_t end, Advice advice) const;

  const Matrix& matrix_;
  bool values_are_mapped_ = false, indices_are_mapped_ = false;
};

// Sequential reader of rows that releases the pages behind it.
class ReadOnce {
 public:
  // `is_on` false: has no effect.
  ReadOnce(const MappedRows& rows, std::int64_t first, bool is_on)
      : rows_(rows), held_(first), reached_(first), step_(rows.rows_of(1 << 18)), is_on_(is_on) {}
  ~ReadOnce() {
    if (is_on_) rows_.release(held_, reached_ + 1);
  }
  ReadOnce(const ReadOnce&) = delete;
  ReadOnce& operator=(const ReadOnce&) = delete;
  void reach(std::int64_t row) {
    reached_ = row;
    if (!is_on_ || row - held_ < step_) return;
    rows_.release(held_, row);
    held_ = row;
  }

 private:
  const MappedRows& rows_;
  std::int64_t held_, reached_, step_;
  bool is_on_;
};

// Resident set size of this process in bytes.
std::int64_t resident_bytes();

}  // namespace tutti::learn::tree
