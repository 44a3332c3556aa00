// `tutti bench allreduce`
#pragma once

namespace tutti::bench {

// Runs the benchmark of the command line, prints the table, writes the files asked for. Returns the
// exit code: 0, or 1 when a system failed or gave a wrong result. Throws ConfigError, IoError,
// Interrupted.
int run_allreduce(int argc, char** argv);

}  // namespace tutti::bench
