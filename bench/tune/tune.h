// `tutti bench tune`: hyper-parameter search compared with Optuna.
#pragma once

namespace tutti::bench {

// Runs the benchmark, prints the tables and writes the requested file. Returns the exit code. Throws ConfigError,
// IoError, Interrupted.
int run_tune_bench(int argc, char** argv);

}  // namespace tutti::bench
