// The checks of a chunk while it is computed with.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/learn/data/data_file.h"
#include "tutti/learn/data/internal/checksum.h"

namespace tutti::learn {

// The checksum of a chunk and, of dense rows, a look at their values, piece by piece: who computes
// with them then finds them in the cache. Not for files of version 1; file and bytes outlive it.
class ChunkCheck {
 public:
  ChunkCheck(const DataFile& file, std::int64_t chunk, const std::byte* start);
  std::int64_t pieces() const { return static_cast<std::int64_t>(sums_.size()); }
  // Pieces begin at multiples of this.
  static std::int64_t piece_bytes();

  // Looks at pieces [begin, end), little by little.
  class Walk {
   public:
    Walk(ChunkCheck& check, std::int64_t begin, std::int64_t end);
    // At their bytes up to this one, counted from the start of the chunk, where that is not done.
    void look_until(std::int64_t byte);
    void look_at_all();

   private:
    ChunkCheck& check_;
    std::size_t at_, end_;
    PieceSum sum_;
  };
  // After each piece was looked at once, in any order, on any threads. Throws as
  // DataFile::check_chunk does.
  void finish() const;

 private:
  void look_for_values(std::size_t begin, std::size_t end);

  const DataFile& file_;
  std::int64_t chunk_;
  const std::byte* start_;
  std::size_t first_value_ = 0, end_of_values_ = 0;  // bytes from the start
  std::vector<std::uint64_t> sums_;
  std::atomic<bool> are_finite_ = true;
};

}  // namespace tutti::learn
