#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tutti/core/error.h"
#include "tutti/topo/internal/system.h"
#include "tutti/topo/machine.h"

namespace tutti::topo {
namespace {

using testing::ElementsAre;
using testing::Field;

namespace fs = std::filesystem;

// A directory that replaces "/".
class Root : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tutti-root-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST(Discover, ThisHostIsComplete) {
  const Machine machine = discover_machine();
  EXPECT_FALSE(machine.name.empty());
  EXPECT_GE(machine.core_count(), 1);
  EXPECT_GE(machine.memory, 1 << 20);
  EXPECT_GE(machine.numa_nodes.size(), 1u);
  EXPECT_GE(machine.usable_cpus(), 1);
  EXPECT_LE(std::ssize(machine.allowed_cpus), machine.cpu_count());
}

TEST(Discover, AffinityLimitsTheUsableCpus) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const Machine machine = discover_machine();
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_THAT(machine.allowed_cpus, ElementsAre(cpu));
  EXPECT_EQ(machine.cpu_count(), discover_machine().cpu_count());
}

TEST(Discover, SyntheticMachinesHaveTheirShape) {
  const Machine machine = synthetic_machine("pack:2 numa:1 l3:2 l2:4 core:1 pu:2");
  EXPECT_EQ(machine.sockets.size(), 2u);
  EXPECT_EQ(machine.core_count(), 16);
  EXPECT_THAT(machine.sockets[1].cores[0], ElementsAre(16, 17));
  EXPECT_EQ(machine.numa_nodes[1].socket, 1);
  const auto l3 = std::ranges::find(machine.caches, 3, &Cache::level);
  ASSERT_NE(l3, machine.caches.end());
  EXPECT_EQ(l3->count, 4);
  EXPECT_EQ(l3->shared_by, 8);
  EXPECT_THROW(synthetic_machine("nonsense"), ConfigError);
}

TEST(Discover, MachinesWithoutSocketsOrCoresGetOne) {
  const Machine machine = synthetic_machine("pu:3");
  EXPECT_EQ(machine.sockets.size(), 1u);
  EXPECT_EQ(machine.core_count(), 3);
}

TEST(Discover, ACardIsOneAcceleratorAndDisplaysDoNotCount) {
  const Machine machine = internal::machine_from_xml(R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" allowed_cpuset="0x1"
  nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
  <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
   complete_nodeset="0x1" gp_index="2" local_memory="1073741824"/>
  <object type="Package" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
   complete_nodeset="0x1" gp_index="3">
   <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
    complete_nodeset="0x1" gp_index="4">
    <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
     complete_nodeset="0x1" gp_index="5"/>
   </object>
   <object type="Bridge" gp_index="6" bridge_type="0-1" depth="0" bridge_pci="0000:[00-01]">
    <object type="PCIDev" gp_index="7" pci_busid="0000:01:00.0"
     pci_type="0302 [10de:1db1] [0000:0000] a1" pci_link_speed="0.000000">
     <object type="OSDev" gp_index="8" name="cuda0" subtype="CUDA" osdev_type="5">
      <info name="Backend" value="CUDA"/>
      <info name="GPUModel" value="Tesla V100"/>
      <info name="CUDAGlobalMemorySize" value="16777216"/>
     </object>
     <object type="OSDev" gp_index="9" name="nvml0" subtype="NVML" osdev_type="1">
      <info name="Backend" value="NVML"/>
     </object>
    </object>
    <object type="PCIDev" gp_index="10" pci_busid="0000:00:02.0"
     pci_type="0300 [1234:1111] [0000:0000] 02" pci_link_speed="0.000000">
     <object type="OSDev" gp_index="11" name="card0" osdev_type="1"/>
    </object>
   </object>
  </object>
  <object type="OSDev" gp_index="12" name="opencl0d0" subtype="OpenCL" osdev_type="5">
   <info name="Backend" value="OpenCL"/>
   <info name="OpenCLDeviceType" value="CPU"/>
  </object>
 </object>
</topology>
)");
  ASSERT_EQ(machine.accelerators.size(), 1u);
  const Accelerator& card = machine.accelerators[0];
  EXPECT_EQ(card, (Accelerator{
                      .name = "cuda0", .model = "Tesla V100", .socket = 0, .memory = 16ll << 30}));
}

TEST_F(Root, DeviceFilesAreAccelerators) {
  for (const char* file : {"nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia", "null"}) {
    write(std::string("dev/") + file, "");
  }
  write("dev/accel/accel0", "");
  const auto name = [](const char* expected) { return Field(&Accelerator::name, expected); };
  EXPECT_THAT(internal::accelerators_in(root_),
              ElementsAre(name("nvidia2"), name("nvidia10"), name("accel0")));
  EXPECT_TRUE(internal::accelerators_in(root_ / "nowhere").empty());
}

TEST_F(Root, QuotaIsTheSmallestOfAllAncestors) {
  EXPECT_EQ(internal::cpu_quota(root_), 0);
  write("proc/self/cgroup", "0::/jobs/mine\n");
  write("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  EXPECT_EQ(internal::cpu_quota(root_), 0);
  write("sys/fs/cgroup/jobs/cpu.max", "150000 100000\n");
  EXPECT_EQ(internal::cpu_quota(root_), 1.5);
  write("sys/fs/cgroup/jobs/mine/cpu.max", "50000 100000\n");
  EXPECT_EQ(internal::cpu_quota(root_), 0.5);
}

TEST_F(Root, QuotaOfTheFirstVersion) {
  write("proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/docker/1\nrubbish\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(internal::cpu_quota(root_), 2);
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(internal::cpu_quota(root_), 0);
}

}  // namespace
}  // namespace tutti::topo
