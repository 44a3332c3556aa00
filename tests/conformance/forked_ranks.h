// Ranks as forked processes, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <vector>

namespace tutti::comm {

// Calls `body(rank)` in one forked process per rank and waits for all. A rank prints its failures and exceptions, which
// fail the calling test.
inline void run_forked(int ranks, const std::function<void(int)>& body) {
  std::fflush(nullptr);
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      try {
        body(rank);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    processes.push_back(process);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    waitpid(processes[static_cast<std::size_t>(rank)], &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "rank " << rank << " failed";
  }
}

}  // namespace tutti::comm
