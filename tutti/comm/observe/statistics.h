// Statistics of the operations of a communicator over all its ranks (option dump_iter).
//
// Each rank accumulates its own times; every `every` operations the ranks exchange the sums. The slowest rank is the
// one that waits least: among collectives in which every rank waits for all others, the rank with the shortest total
// time arrived last, and its lateness is the difference to the longest total time.
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

// One operation as measured by this rank.
struct Observation {
  OpRecord record;
  std::int64_t bytes = 0;  // size of this rank's input
  double seconds = 0;
  DimensionTimes times = {};
  std::string algorithm = {};
};

struct Summary {
  std::uint64_t operations = 0;
  std::int64_t bytes = 0;
  double mean = 0;                      // seconds per operation, averaged over the ranks
  double longest = 0;                   // seconds, maximum over the ranks
  std::vector<double> dimensions = {};  // mean seconds per dimension
  std::map<std::string, int> algorithms = {};
  int last_rank = -1;   // -1: no operation made every rank wait for all others
  double lateness = 0;  // mean seconds between the first and the last rank

  // Human-readable, without a trailing newline.
  std::string text(const topo::Grid& grid, const topo::Layout& layout) const;
};

class Statistics {
 public:
  // Gathers `mine` of all ranks in rank order; collective.
  using Gather = std::function<Result(std::span<const double> mine, std::span<double> all)>;
  using Report = std::function<void(const Summary&)>;

  // Calls `report` with the same summary on every rank after each `every` operations. `dimensions`: size of the grid.
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
  std::uint64_t waits_for_all_ = 0;  // number of operations
  std::array<double, kFields> mine_{};
};

}  // namespace tutti::comm
