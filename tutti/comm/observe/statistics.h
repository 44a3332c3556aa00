// Duration of the operations of a communicator, over all its ranks: the option dump_iter.
//
// Each rank sums up its own; every so many operations the ranks exchange the sums. A rank that
// comes late waits least: among the operations in which everybody waits for everybody, the one that
// spent the least time was last, by the difference to the one that spent the most.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/observe/dimension_times.h"
#include "tutti/topo/grid.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

// One operation as this rank saw it.
struct Observation {
  OpRecord record;
  std::int64_t bytes = 0;  // of this rank's input
  double seconds = 0;
  DimensionTimes times = {};
  std::string algorithm = {};
};

struct Summary {
  std::uint64_t operations = 0;
  std::int64_t bytes = 0;
  double mean = 0;                      // seconds of an operation, on the average rank
  double longest = 0;                   // on any rank
  std::vector<double> dimensions = {};  // mean seconds in each
  std::map<std::string, int> algorithms = {};
  int last_rank = -1;   // -1: no operation in which all wait for all
  double lateness = 0;  // mean seconds of the last behind the first

  // For people, without a newline at the end.
  std::string text(const topo::Grid& grid, const topo::Layout& layout) const;
};

class Statistics {
 public:
  // Gathers `mine` of all ranks, in rank order; collective.
  using Gather = std::function<Result(std::span<const double> mine, std::span<double> all)>;
  using Report = std::function<void(const Summary&)>;

  // Reports, on every rank the same, after each `every` operations. `dimensions` of the grid.
  Statistics(std::int64_t every, int ranks, std::size_t dimensions, Gather gather, Report report);
  Result note(const Observation& observation);

 private:
  enum Field { kWaiting, kSeconds, kLongest, kFirstDimension };
  static constexpr std::size_t kFields = kFirstDimension + 8;
  void sum_up(std::span<const double> all);

  const std::uint64_t every_;
  const int ranks_;
  const std::size_t dimensions_;
  const Gather gather_;
  const Report report_;
  Summary summary_;
  std::uint64_t waits_for_all_ = 0;  // operations
  std::array<double, kFields> mine_{};
};

}  // namespace tutti::comm
