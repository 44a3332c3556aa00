#include "tutti/os/memory.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tutti/os/cgroup.h"

namespace tutti::os {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

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

TEST_F(FreeMemoryTest, IsTheAvailableMemoryOfTheMachine) {
  EXPECT_EQ(free_memory(root_).machine, kUnlimitedMemory);
  EXPECT_GT(free_memory(root_).bytes(), std::int64_t{1} << 62);
  put("proc/meminfo", "MemTotal:  900 kB\nMemFree: 1 kB\nMemAvailable:   500 kB\n");
  put("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(free_memory(root_).bytes(), 500 * 1024);
  EXPECT_EQ(free_memory(root_).text(), "500 KiB on this machine");
  EXPECT_GT(free_memory().bytes(), 1000000);
}

TEST_F(FreeMemoryTest, TheTightestGroupAboveCounts) {
  put("proc/meminfo", "MemAvailable: 500 kB\n");
  put("proc/self/cgroup", "0::/job/step\n");
  put("sys/fs/cgroup/job/step/memory.max", "max\n");
  put("sys/fs/cgroup/job/step/memory.current", "7\n");
  put("sys/fs/cgroup/job/memory.max", "8192\n");
  put("sys/fs/cgroup/job/memory.current", "5000\n");
  put("sys/fs/cgroup/job/memory.stat", "anon 4000\ninactive_file 600\nactive_file 400\n");
  EXPECT_EQ(free_memory(root_).bytes(), 8192 - 5000 + 1000);
  EXPECT_THAT(free_memory(root_).text(), HasSubstr("4.09 KiB under the limit of its container"));
}

TEST_F(FreeMemoryTest, CgroupsOfVersion1Count) {
  put("proc/meminfo", "MemAvailable: 500 kB\n");
  put("proc/self/cgroup", "5:cpu:/\n4:memory:/docker/abc\n0::/\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2048");  // the root that a container sees
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "3000");
  EXPECT_EQ(free_memory(root_).bytes(), 0);
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_FALSE(free_memory(root_).container);
  put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "4096");
  put("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "96");
  EXPECT_EQ(free_memory(root_).bytes(), 4000);
}

TEST_F(FreeMemoryTest, ControllersOfVersion1MayShareAMount) {
  put("proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/docker/1\nrubbish\n");
  const fs::path mount = root_ / "sys/fs/cgroup";
  EXPECT_THAT(cgroup_directories("cpu", root_),
              testing::ElementsAre(mount / "cpu,cpuacct/docker/1", mount / "cpu,cpuacct/docker",
                                   mount / "cpu,cpuacct/", mount / "cpu/docker/1",
                                   mount / "cpu/docker", mount / "cpu/"));
  EXPECT_THAT(cgroup_directories("memory", root_), testing::IsEmpty());
}

// Runs in a child process, because a hard limit cannot be raised again.
TEST_F(FreeMemoryTest, TheLimitOfAddressSpaceCounts) {
  put("proc/self/status", "VmPeak: 900 kB\nVmSize: 100 kB\n");
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{std::int64_t{1} << 50, std::int64_t{1} << 50};
    const bool is_set = ::setrlimit(RLIMIT_AS, &limit) == 0;
    const FreeMemory free = free_memory(root_);
    const std::int64_t left = (std::int64_t{1} << 50) - 100 * 1024;
    ::_exit(is_set && free.address_space == left && free.bytes() == left ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::os
