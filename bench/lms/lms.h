// `tutti bench lms`: training steps within a memory budget.
#pragma once

namespace tutti::bench {

// The command line of the benchmark. Returns the exit code.
int run_lms_bench(int argc, char** argv);

}  // namespace tutti::bench
