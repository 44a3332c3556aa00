// Which parts of mapped files are in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn::tree {

enum class Advice : std::uint8_t {
  kFetch,    // start reading it
  kRelease,  // take it out of this process; the file has it
};

// For `bytes` from `begin` on of the mapping `all`, which must be one that a file stands behind:
// what is released elsewhere would be lost.
void advise(const void* all, const void* begin, std::int64_t bytes, Advice advice);

// `bytes` of an unnamed file, mapped for reading and writing; the file is gone when the mapping is.
// Its room is reserved: no later write fails. Throws IoError (DDL-9-26).
void* map_unnamed_file(const std::filesystem::path& folder, std::size_t bytes);

// The rows of a matrix of the caller, which may be a mapped file or plain memory. Only what nobody
// could have changed, and a file can give again, is ever let go.
class MappedRows {
 public:
  explicit MappedRows(const Matrix& matrix);

  void prefetch(std::int64_t begin, std::int64_t end) const {
    advise_rows(begin, end, Advice::kFetch);
  }
  void release(std::int64_t begin, std::int64_t end) const {
    advise_rows(begin, end, Advice::kRelease);
  }
  // About how many rows make so many bytes.
  std::int64_t rows_of(std::int64_t bytes) const;

 private:
  void advise_rows(std::int64_t begin, std::int64_t end, Advice advice) const;

  const Matrix& matrix_;
  bool values_are_mapped_ = false, indices_are_mapped_ = false;
};

// Walks up the rows and lets go what lies behind.
class ReadOnce {
 public:
  // `is_on`: else it does nothing.
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

// Bytes of this process that are in memory now.
std::int64_t resident_bytes();

}  // namespace tutti::learn::tree
