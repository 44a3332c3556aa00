// Splitting ranges into pieces. All ranks compute the same split, so boundaries need no communication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/plan/plan.h"

namespace tutti::plan {

// Returns piece `index` of `parts`. Boundaries are multiples of 64 bytes from the start of the range, so two ranks
// never write the same cache line. Pieces differ by at most 64 bytes and may be empty.
Range split(const Range& range, int parts, int index, std::size_t element_bytes);

// The same elements in another memory space.
inline Range in(Space space, const Range& range) {
  return {space, range.begin, range.count};
}

// The pieces owned by the ranks of a subgroup, by index in the subgroup. A piece consists of any number of ranges.
class Pieces {
 public:
  static Pieces of_split(const Range& range, int parts, std::size_t element_bytes);

  // Adds a piece without ranges. `append` adds a range to the last piece: empty ranges are dropped, and a range that
  // continues the previous one is merged with it.
  void add_piece() { first_.push_back(ranges_.size()); }
  void append(const Range& range);

  int size() const { return static_cast<int>(first_.size()); }
  // Returns the ranges of the pieces first..last-1 with adjacent ranges merged. Every rank that holds the same pieces
  // computes the same runs, so each run is one message.
  std::vector<Range> runs(int first, int last) const;
  // Returns the piece as a single range. Precondition: the piece has one range (true for `of_split`).
  Range only(int index) const;
  std::int64_t count(int index) const;

 private:
  std::size_t end_of(int index) const {
    return index + 1 < size() ? first_[index + 1] : ranges_.size();
  }
  std::vector<Range> ranges_;
  std::vector<std::size_t> first_;
  bool is_split_ = false;  // one range per piece, each starting at the end of the previous one
};

}  // namespace tutti::plan
