// The process in which a rank trains: threads, memory, precision.
#pragma once

#include <torch/types.h>

#include "tutti/core/options.h"
#include "tutti/train/task.h"

namespace tutti::train {

// Sets up malloc and the number of threads. Call it first in main, before libtorch does any work.
void prepare_process(int threads);
// As many as the processors that this process may use, shared with the other ranks of the host when
// all of them may use the same ones.
int threads_of(const Options& options, int local_ranks);

// Whether the processor computes in bf16 faster than in f32.
bool has_bf16();
// What the option `precision` comes to on this processor.
torch::ScalarType compute_type(const Options& options);

// Multiply-adds per second, times two, of one rank at the precision of the options: those of a
// matrix product.
double peak_flops(const Options& options);

// libtorch's own casts to bf16 while this lives.
class Autocast {
 public:
  Autocast();
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool before_;
};

// The loss of an update of the task at the precision of the options.
torch::Tensor precise_loss(Task& task, const Options& options, std::size_t update,
                           const Batch& batch, std::uint64_t seed);

}  // namespace tutti::train
