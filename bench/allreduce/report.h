// Results of the all-reduce benchmark as text, JSON rows and SVG.
#pragma once

#include <string>
#include <vector>

#include "bench/allreduce/contest.h"
#include "bench/harness/row.h"
#include "tutti/plot/chart.h"

namespace tutti::bench {

// Metrics: "time" (us), "algorithm_bandwidth" (GB/s); for Tutti "ratio" to each "baseline" (above 1: Tutti is faster)
// and "share_of_bound" (%); for the bound "traffic" (GB/s).
std::vector<Row> rows_of(const AllreduceSettings& settings, const Outcome& outcome);

// The table, the cases in which a baseline is faster, and the systems that were skipped or failed.
std::string text_of(const AllreduceSettings& settings, const Outcome& outcome);

plot::Chart chart_of(const AllreduceSettings& settings, const Outcome& outcome,
                     const Machine& machine);

}  // namespace tutti::bench
