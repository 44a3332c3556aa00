// One rank of a job over several hosts: all-reduces of many sizes, in library-allocated and
// caller-allocated memory, each checked.
//   all_reduce_over_hosts HOSTS RANKS_PER_HOST
// Exits with 1 and a message if a result or the layout is wrong.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/core/error.h"

namespace {

using tutti::Buffer;
using tutti::comm::Communicator;

// Element i of rank r is r + i, so the sum over n ranks is n(n-1)/2 + n*i: exact in f32 up to the largest size here.
void fill(std::span<float> values, int rank) {
  std::iota(values.begin(), values.end(), static_cast<float>(rank));
}

bool is_sum(std::span<const float> values, int ranks) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<float>(ranks * (ranks - 1) / 2) + static_cast<float>(ranks) * i)
      return false;
  }
  return true;
}

bool sums_are_right(Communicator& ranks, std::size_t count) {
  auto* library_memory = static_cast<float*>(ranks.allocate(count * sizeof(float) + 1));
  std::vector<float> foreign_memory(count);
  bool is_right = true;
  for (const std::span<float> values :
       {std::span(library_memory, count), std::span(foreign_memory)}) {
    fill(values, ranks.rank());
    ranks.all_reduce(Buffer::of(values));
    is_right = is_right && is_sum(values, ranks.size());
  }
  ranks.free(library_memory);
  return is_right;
}

int run(int hosts, int ranks_per_host) {
  const auto ranks = Communicator::from_environment();
  if (ranks->size() != hosts * ranks_per_host || ranks->local_size() != ranks_per_host) {
    std::fprintf(stderr, "rank %d of %d, %d of them on this host\n", ranks->rank(), ranks->size(),
                 ranks->local_size());
    return EXIT_FAILURE;
  }
  for (const std::size_t count : {0, 1, 7, 256, 10'007, 300'000}) {
    if (!sums_are_right(*ranks, count)) {
      std::fprintf(stderr, "rank %d: wrong sum of %zu elements\n", ranks->rank(), count);
      return EXIT_FAILURE;
    }
  }
  if (ranks->rank() == 0) std::printf("%d ranks on %d hosts: right\n", ranks->size(), hosts);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: all_reduce_over_hosts HOSTS RANKS_PER_HOST\n");
    return 2;
  }
  try {
    return run(std::atoi(argv[1]), std::atoi(argv[2]));
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
