// Common parts of the rows, table and chart of the all-reduce benchmark.
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

// Tutti first, then the baselines in the requested order.
std::vector<Line> lines_of(const AllreduceSettings& settings);

// "All-reduce, sum of f32 in place, 2 ranks on 1 host"
std::string heading(const AllreduceSettings& settings);

// Returns GB/s.
double bandwidth(std::int64_t bytes, double seconds);
// Returns the read and write traffic, in GB/s, of one pass over `bytes` by every rank.
double traffic(const AllreduceSettings& settings, std::int64_t bytes, double seconds);

// Lower bound in seconds for an all-reduce of this size: on one host from the memory traffic measured in the same run,
// on several hosts from the links. 0 if it was not measured.
double bound_seconds(const AllreduceSettings& settings, const Outcome& outcome, std::int64_t bytes);

}  // namespace tutti::bench
