#include "tutti/os/heap.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tutti::os {
namespace {

// Runs in a new process, where the first calls of all threads race to initialise the heap. glibc's heap is
// uninitialised under AddressSanitizer, whose allocator replaces it.
[[noreturn]] void trim_from_many_threads() {
  std::atomic<bool> starts = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      while (!starts) std::this_thread::yield();
      trim_heap();
    });
  }
  starts = true;
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

TEST(TrimHeap, IsCallableFromManyThreadsAtOnce) {
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) trim_from_many_threads();
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "run " << i;
  }
}

}  // namespace
}  // namespace tutti::os
