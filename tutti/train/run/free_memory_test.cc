#include "tutti/train/run/free_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

class FreeMemoryTest : public testing::Test {
 protected:
  FreeMemoryTest() {
    std::string form = fs::temp_directory_path() / "memory-XXXXXX";
    root_ = mkdtemp(form.data());
  }
  ~FreeMemoryTest() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST_F(FreeMemoryTest, IsWhatTheMachineHasAvailable) {
  EXPECT_TRUE(std::isinf(free_memory(root_)));
  put("proc/meminfo", "MemTotal:  900 kB\nMemFree: 1 kB\nMemAvailable:   500 kB\n");
  EXPECT_EQ(free_memory(root_), 500 * 1024);
  EXPECT_GT(free_memory(), 1e6);
}

TEST_F(FreeMemoryTest, OrWhatTheTightestControlGroupLeaves) {
  put("proc/meminfo", "MemAvailable: 500 kB\n");
  put("proc/self/cgroup", "0::/job/step\n");
  put("sys/fs/cgroup/job/step/memory.max", "max\n");
  put("sys/fs/cgroup/job/memory.max", "8192\n");
  put("sys/fs/cgroup/job/memory.current", "5000\n");
  put("sys/fs/cgroup/job/memory.stat", "anon 4000\ninactive_file 600\nactive_file 400\n");
  EXPECT_EQ(free_memory(root_), 8192 - 5000 + 1000);
  put("proc/self/cgroup", "4:memory:/old\n");
  put("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "4096\n");
  put("sys/fs/cgroup/memory/old/memory.usage_in_bytes", "9000\n");
  EXPECT_EQ(free_memory(root_), 0);
}

}  // namespace
}  // namespace tutti::train
