// Averages a gradient over all ranks, asynchronously.
#include <cstdio>
#include <cstdlib>
#include <span>

#include "tutti/comm/communicator.h"
#include "tutti/core/error.h"

int main() try {
  using tutti::Buffer;
  using tutti::ReduceOp;
  const auto communicator = tutti::comm::Communicator::from_environment();
  const int rank = communicator->rank(), size = communicator->size();

  // Library-allocated memory is reduced in place, without copies; any other memory works too.
  constexpr std::size_t kCount = 1'000'000;
  auto* const memory = static_cast<float*>(communicator->allocate(kCount * sizeof(float)));
  const std::span<float> gradient(memory, kCount);
  for (float& value : gradient) value = static_cast<float>(rank);

  const Buffer buffer = Buffer::of(gradient);
  const auto work =
      communicator->all_reduce_async(buffer, buffer, ReduceOp::kAverage, {"gradient"});
  const float expected = static_cast<float>(size - 1) / 2;  // overlaps with the all-reduce
  work.wait();

  for (const float value : gradient) {
    if (value == expected) continue;
    std::fprintf(stderr, "rank %d: %g instead of %g\n", rank, value, expected);
    return EXIT_FAILURE;
  }
  if (rank == 0) std::printf("ranks: %d, average: %g\n", size, expected);
  communicator->free(memory);
  return EXIT_SUCCESS;
} catch (const tutti::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
