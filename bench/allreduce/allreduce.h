// `tutti bench allreduce`: all-reduce of Tutti compared with other libraries.
#pragma once

namespace tutti::bench {

// Runs the benchmark, prints the table and writes the requested files. Returns the exit code: 0, or 1 if a system
// failed or returned a wrong result. Throws ConfigError, IoError, Interrupted.
int run_allreduce(int argc, char** argv);

}  // namespace tutti::bench
