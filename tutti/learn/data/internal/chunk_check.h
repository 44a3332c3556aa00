// Incremental verification of a chunk during computation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/learn/data/data_file.h"
#include "tutti/learn/data/internal/checksum.h"

namespace tutti::learn {

// Verifies the checksum of a chunk and, for dense rows, that all values are finite, piece by piece; the caller then
// computes on values that are in the cache. Not for files of version 1. File and bytes must outlive the object.
class ChunkCheck {
 public:
  ChunkCheck(const DataFile& file, std::int64_t chunk, const std::byte* start);
  std::int64_t pieces() const { return static_cast<std::int64_t>(sums_.size()); }
  // Size of a piece.
  static std::int64_t piece_bytes();

  // Incremental check of the pieces [begin, end).
  class Walk {
   public:
    Walk(ChunkCheck& check, std::int64_t begin, std::int64_t end);
    // Checks up to this byte, counted from the start of the chunk.
    void check_until(std::int64_t byte);
    void check_all();

   private:
    ChunkCheck& check_;
    std::size_t at_, end_;
    PieceSum sum_;
  };
  // Call after each piece was checked exactly once, in any order and on any threads. Throws as DataFile::check_chunk
  // does.
  void finish() const;

 private:
  void check_values_of(std::size_t begin, std::size_t end);

  const DataFile& file_;
  std::int64_t chunk_;
  const std::byte* start_;
  std::size_t first_value_ = 0, end_of_values_ = 0;  // byte offsets in the chunk
  std::vector<std::uint64_t> sums_;
  std::atomic<bool> are_finite_ = true;
};

}  // namespace tutti::learn
