// Merges the traces of all ranks of a job into one, for Perfetto or chrome://tracing.
#pragma once

#include <filesystem>
#include <iosfwd>

namespace tutti::runs {

// Reads trace-rank<r>.json in `folder`, or flight-rank<r>.json for ranks without a trace, and writes one trace in JSON
// to `out`: a process per rank, a track per communicator, times relative to the first operation. Returns the number of
// ranks. Throws IoError if there are no such files (DDL-8-61) or one of them is malformed (DDL-8-60).
//
// Clock alignment: a barrier ends at nearly the same moment on all ranks. The last barrier of communicator 0 that all
// ranks completed therefore gives the offset of the clock of each host, which is subtracted from its times. Without
// such a barrier the times stay as recorded.
int merge_traces(const std::filesystem::path& folder, std::ostream& out);

}  // namespace tutti::runs
