// Detection of data races: conflicting accesses to the same memory without a happens-before order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tutti::plan::internal {

// A vector clock with one entry per thread (lane of a rank): 0 if nothing is known of the thread, 1 if it is known to
// have started, plus one for each of its steps known to be complete.
using Clock = std::vector<int>;

struct Access {
  int memory = 0;  // rank that owns the memory
  std::int64_t begin = 0, end = 0;
  bool is_write = false;
  int thread = 0;
  int step = 0;
  std::shared_ptr<const Clock> known;  // clock of the thread when the step began
};

class RaceDetector {
 public:
  void add(Access access) { accesses_.push_back(std::move(access)); }
  // Returns a description of the first conflicting pair, or "" if there is none. `lanes`: threads per rank.
  std::string find(int lanes) const;

 private:
  std::vector<Access> accesses_;
};

}  // namespace tutti::plan::internal
