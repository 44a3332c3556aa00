// `tutti bench glm`
#pragma once

namespace tutti::bench {

// Fits linear models on made data, ours and scikit-learn's in one process, prints the table, writes
// the rows asked for. Returns the exit code: 0, or 1 when the worker failed. Throws ConfigError,
// IoError, Interrupted.
int run_glm(int argc, char** argv);

}  // namespace tutti::bench
