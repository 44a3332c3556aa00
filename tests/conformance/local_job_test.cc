// Plain processes with RANK and WORLD_SIZE, as a script would start them.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/conformance/forked_ranks.h"
#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/tcp/test_port.h"

namespace tutti::comm {
namespace {

void set_environment(int rank, int size, const std::string& job) {
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
  setenv("TUTTI_JOB", job.c_str(), 1);
}

// `is_alone`: each rank emulates a separate host.
void reduce_over_processes(const std::string& job, bool is_alone) {
  for (const int size : {1, 2, 3}) {
    const int port = free_port();
    run_forked(size, [&](int rank) {
      set_environment(rank, size, job);
      if (is_alone) {
        setenv("TUTTI_HOST_ID", std::to_string(rank).c_str(), 1);
        setenv("LOCAL_WORLD_SIZE", "1", 1);
        setenv("MASTER_ADDR", "localhost", 1);
        setenv("MASTER_PORT", std::to_string(port - 1).c_str(), 1);
      }
      const auto communicator = Communicator::from_environment();
      ASSERT_EQ(communicator->rank(), rank);
      ASSERT_EQ(communicator->size(), size);
      EXPECT_EQ(communicator->local_size(), is_alone ? 1 : size);
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

TEST(LocalJob, ReducesOverProcesses) {
  reduce_over_processes("reduce." + std::to_string(getpid()), false);
}

TEST(LocalJob, ReducesOverHostsWithoutMpi) {
  reduce_over_processes("hosts." + std::to_string(getpid()), true);
}

}  // namespace
}  // namespace tutti::comm
