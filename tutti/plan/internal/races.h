// Finds accesses to the same memory that nothing orders.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tutti::plan::internal {

// A vector clock: for each thread (a lane of a rank) 0 while nothing is known of it, 1 when it is
// known to have begun, and one more for each of its steps known to be over.
using Clock = std::vector<int>;

struct Access {
  int memory = 0;  // whose
  std::int64_t begin = 0, end = 0;
  bool is_write = false;
  int thread = 0;
  int step = 0;
  std::shared_ptr<const Clock> known;  // when the step began
};

class RaceFinder {
 public:
  void add(Access access) { accesses_.push_back(std::move(access)); }
  // The first pair that conflicts, in words, or "". `lanes`: threads per rank.
  std::string find(int lanes) const;

 private:
  std::vector<Access> accesses_;
};

}  // namespace tutti::plan::internal
