// What the all-reduce contest gave, for people, for programs and as a picture.
#pragma once

#include <string>
#include <vector>

#include "bench/allreduce/contest.h"
#include "bench/harness/row.h"
#include "tutti/plot/chart.h"

namespace tutti::bench {

// Metrics: "time" (us), "algorithm_bandwidth" (GB/s), for ours "ratio" to each "peer" (above 1:
// ours is faster) and "share_of_bound" (%), and for the bound "traffic" (GB/s).
std::vector<Row> rows_of(const AllreduceSettings& settings, const Outcome& outcome);

// The table, who was faster than us where, and who was skipped or failed.
std::string text_of(const AllreduceSettings& settings, const Outcome& outcome);

plot::Chart chart_of(const AllreduceSettings& settings, const Outcome& outcome,
                     const Machine& machine);

}  // namespace tutti::bench
