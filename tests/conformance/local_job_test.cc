// Plain processes with RANK and WORLD_SIZE, as a script would start them.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/conformance/forked_ranks.h"
#include "tutti/comm/communicator.h"

namespace tutti::comm {
namespace {

void set_environment(int rank, int size, const std::string& job) {
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
  setenv("TUTTI_JOB", job.c_str(), 1);
}

TEST(LocalJob, ReducesOverProcesses) {
  const std::string job = "reduce." + std::to_string(getpid());
  for (const int size : {1, 2, 3}) {
    run_forked(size, [&](int rank) {
      set_environment(rank, size, job);
      const auto communicator = Communicator::from_environment();
      ASSERT_EQ(communicator->rank(), rank);
      ASSERT_EQ(communicator->size(), size);
      EXPECT_EQ(communicator->local_size(), size);
      for (const std::int64_t count : {0, 1, 1000, 1'000'000}) {
        std::vector<float> values(static_cast<std::size_t>(count), static_cast<float>(rank + 1));
        communicator->all_reduce(Buffer::of(std::span(values)));
        EXPECT_EQ(values,
                  std::vector<float>(values.size(), static_cast<float>(size * (size + 1) / 2)));
      }
      int token = rank;
      if (size > 1 && rank == 0) communicator->send(ConstBuffer(&token, 1, DType::kI32), 1);
      if (rank == 1) {
        communicator->receive(Buffer{&token, 1, DType::kI32}, 0);
        EXPECT_EQ(token, 0);
      }
      communicator->barrier();
    });
  }
}

}  // namespace
}  // namespace tutti::comm
