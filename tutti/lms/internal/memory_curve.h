// Resident bytes of a trace over time, with changes to ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/lms/trace.h"

namespace tutti::lms {

// A sequence of instants: one after each memory event, and one at the start of each operator. A segment tree makes
// changes and searches logarithmic in the number of instants.
class MemoryCurve {
 public:
  // Without LMS: all existing blocks are resident.
  explicit MemoryCurve(const Trace& trace);

  int size() const { return static_cast<int>(size_); }
  // The instant at which operator `op` starts, after the events before it; size() for op = N.
  int start_of(int op) const { return starts_[static_cast<std::size_t>(op)]; }
  // The first instant after the end of operator `op`; 0 for op = -1.
  int end_of(int op) const { return ends_[static_cast<std::size_t>(op + 1)]; }
  // The operator that runs at an instant, or else the next one.
  int operator_at(int instant) const { return operators_[static_cast<std::size_t>(instant)]; }

  // Adds bytes to the instants [first, last).
  void add(int first, int last, std::int64_t bytes);
  // Largest value of [first, last); the smallest integer if the range is empty.
  std::int64_t maximum(int first, int last) const;
  // The first instant of [first, size()) above `limit`; size() if there is none.
  int first_above(int first, std::int64_t limit) const;
  // The last instant of [0, last) above `limit`; -1 if there is none.
  int last_above(int last, std::int64_t limit) const;

 private:
  void append(std::int64_t bytes, int op);
  void build();
  void add(std::size_t node, int low, int high, int first, int last, std::int64_t bytes);
  std::int64_t maximum(std::size_t node, int low, int high, int first, int last) const;
  int first_above(std::size_t node, int low, int high, int first, std::int64_t limit) const;
  int last_above(std::size_t node, int low, int high, int last, std::int64_t limit) const;

  std::size_t size_ = 0;
  std::vector<int> starts_, ends_, operators_;
  std::vector<std::int64_t> values_;  // initial values by instant
  std::vector<std::int64_t> added_,
      largest_;  // per node: added to the subtree; maximum of the subtree with it
  int leaves_ = 1;
};

}  // namespace tutti::lms
