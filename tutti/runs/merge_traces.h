// One trace for Perfetto or chrome://tracing from those of all ranks of a job.
#pragma once

#include <filesystem>
#include <iosfwd>

namespace tutti::runs {

// Reads trace-rank<r>.json of `folder`, or flight-rank<r>.json for ranks without one, and writes
// one trace to `out`: a process per rank, a line per communicator, times from the first operation
// on. The clocks of hosts are set by the last barrier of the first communicator that all ranks
// left, where there is one: it ends everywhere at once. Returns the number of ranks. Throws IoError
// when there are none, or a file cannot be understood.
int merge_traces(const std::filesystem::path& folder, std::ostream& out);

}  // namespace tutti::runs
