// `tutti bench ddp`: DistributedDataParallel of torch with Tutti's backend and with Gloo.
#pragma once

namespace tutti::bench {

// Returns the exit code: 1 if a system failed or returned a wrong result. Throws ConfigError, IoError, Interrupted.
int run_ddp(int argc, char** argv);

}  // namespace tutti::bench
