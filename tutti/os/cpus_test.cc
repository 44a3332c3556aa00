#include "tutti/os/cpus.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace tutti::os {
namespace {

TEST(Affinity, OfAThreadCanBeNarrowedAndWidened) {
  std::thread([] {
    const std::vector<int> before = allowed_cpus();
    ASSERT_FALSE(before.empty());
    EXPECT_EQ(allowed_cpu_count(), static_cast<int>(before.size()));
    ASSERT_TRUE(set_affinity(cpu_set_of(std::array{before.front()})));
    EXPECT_EQ(allowed_cpus(), std::vector<int>{before.front()});
    EXPECT_EQ(allowed_cpu_count(), 1);
    ASSERT_TRUE(set_affinity(any_cpu()));
    EXPECT_GE(allowed_cpus().size(), before.size());
  }).join();
}

TEST(Affinity, RejectsEmptyCpusAndThreads) {
  EXPECT_FALSE(set_affinity(cpu_set_of({})));
  const cpu_set_t none = affinity_of(-1);
  EXPECT_EQ(CPU_COUNT(&none), 0);
}

}  // namespace
}  // namespace tutti::os
