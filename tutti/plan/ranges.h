// How ranges are cut in pieces. All ranks cut alike, so nobody has to be told where a piece lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/plan/plan.h"

namespace tutti::plan {

// Piece `index` of `parts`. Boundaries are multiples of 64 bytes from the start of the range, so
// two ranks never write the same cache line; pieces differ by at most 64 bytes and may be empty.
Range cut(const Range& range, int parts, int index, std::size_t element_bytes);

// The same elements of another memory.
inline Range in(Space space, const Range& range) {
  return {space, range.begin, range.count};
}

// What belongs to each rank of a line, by the rank's index in it: any number of ranges each.
class Pieces {
 public:
  static Pieces of_cut(const Range& range, int parts, std::size_t element_bytes);

  // Adds the next index, without ranges; `append` gives it one (empty ones are left out, one that
  // continues the last is joined to it).
  void add_piece() { first_.push_back(ranges_.size()); }
  void append(const Range& range);

  int size() const { return static_cast<int>(first_.size()); }
  // The ranges of the pieces first..last-1, those that touch joined. Every rank that holds the same
  // pieces sees the same runs, so a run is a message.
  std::vector<Range> runs(int first, int last) const;
  // The piece as one range; only for pieces that are one (those of a cut are).
  Range only(int index) const;
  std::int64_t count(int index) const;

 private:
  std::size_t end_of(int index) const {
    return index + 1 < size() ? first_[index + 1] : ranges_.size();
  }
  std::vector<Range> ranges_;
  std::vector<std::size_t> first_;
  bool is_cut_ = false;  // one range per piece, each where the last ends
};

}  // namespace tutti::plan
