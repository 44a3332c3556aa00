// `tutti bench train`: the training step of a case compared with the same network in PyTorch's DistributedDataParallel
// over Gloo.
#pragma once

namespace tutti::bench {

// Returns the exit code: 1 if a system failed. Throws ConfigError, IoError, Interrupted.
int run_train_bench(int argc, char** argv);

}  // namespace tutti::bench
