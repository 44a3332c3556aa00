// `tutti bench ddp`: torch's DistributedDataParallel on our backend and on Gloo.
#pragma once

namespace tutti::bench {

// Returns the exit code: 1 when a system failed or gave a wrong result. Throws ConfigError,
// IoError, Interrupted.
int run_ddp(int argc, char** argv);

}  // namespace tutti::bench
