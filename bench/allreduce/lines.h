// What rows, table and chart of the all-reduce contest have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/allreduce/contest.h"
#include "bench/allreduce/settings.h"

namespace tutti::bench {

struct Line {
  std::string system, memory;
  bool is_ours() const { return system == "tutti"; }
  std::string name() const { return is_ours() ? system + " " + memory : system; }
};

// Ours first, then the peers in the order they were asked for.
std::vector<Line> lines_of(const AllreduceSettings& settings);

// "All-reduce, sum of f32 in place, 2 ranks on 1 host"
std::string heading(const AllreduceSettings& settings);

// GB/s.
double bandwidth(std::int64_t bytes, double seconds);
// GB/s of the read and write traffic of one pass over `bytes` by every rank.
double traffic(const AllreduceSettings& settings, std::int64_t bytes, double seconds);

// Seconds that no all-reduce of this size can beat here: on one host the memory traffic of the same
// run sets them, on several the links. 0 when it was not measured.
double bound_seconds(const AllreduceSettings& settings, const Outcome& outcome, std::int64_t bytes);

}  // namespace tutti::bench
