// Setup of a process that trains: threads, memory, precision.
#pragma once

#include <torch/types.h>

#include "tutti/core/options.h"
#include "tutti/train/task.h"

namespace tutti::train {

// Sets up malloc and the number of threads. Call it first in main, before libtorch does any work.
void prepare_process(int threads);
// Number of threads of a rank: the CPUs that this process may use, divided among the ranks of the host if all may use
// the same CPUs.
int threads_of(const Options& options, int local_ranks);

// True if the CPU computes faster in bf16 than in f32.
bool has_bf16();
// The option `precision` resolved for this CPU.
torch::ScalarType compute_type(const Options& options);

// Floating-point operations per second of one rank at the precision of the options, measured with a matrix product.
double peak_flops(const Options& options);

// Enables libtorch's autocast to bf16 while an object exists.
class Autocast {
 public:
  Autocast();
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool before_;
};

// Loss of an update of the task at the precision of the options.
torch::Tensor precise_loss(Task& task, const Options& options, std::size_t update,
                           const Batch& batch, std::uint64_t seed);

}  // namespace tutti::train
