// The command `tutti bench glm`.
#pragma once

namespace tutti::bench {

// Fits linear models on synthetic data, with Tutti and scikit-learn in one process; prints the table and writes the
// requested rows. Returns the exit code: 0, or 1 if the worker failed. Throws ConfigError, IoError and Interrupted.
int run_glm(int argc, char** argv);

}  // namespace tutti::bench
