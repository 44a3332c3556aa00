#include "bench/allreduce/launchers.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::bench {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string line_of(const ProcessSpec& spec) {
  return fmt::format("{}", fmt::join(spec.arguments, " "));
}

struct Launching : testing::Test {
  AllreduceSettings settings;
  LaunchTask task{settings, {"worker", "directory"}, {4, 6}, "testbed"};

  void use_testbed(int hosts, bool map_by_node) {
    settings.hosts = hosts;
    settings.on_testbed = true;
    settings.map_by_node = map_by_node;
  }
};

TEST_F(Launching, EveryRankHasACore) {
  EXPECT_EQ(line_of(launch_openmpi(task)[0]),
            "mpirun.openmpi -np 2 --bind-to core worker directory");
  EXPECT_EQ(line_of(launch_mpich(task)[0]), "mpirun.mpich -np 2 -bind-to core worker directory");
  auto direct = launch_directly(task);
  ASSERT_EQ(direct.size(), 2u);
  EXPECT_EQ(direct[1].cpus, std::vector<int>{6});
  EXPECT_THAT(line_of(direct[1]), HasSubstr("RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2"));
}

TEST_F(Launching, MoreRanksThanCoresAreLeftToTheScheduler) {
  settings.ranks_per_host = 3;
  EXPECT_THAT(line_of(launch_openmpi(task)[0]), HasSubstr("mpi_yield_when_idle 1"));
  EXPECT_THAT(line_of(launch_mpich(task)[0]), Not(HasSubstr("-bind-to")));
  EXPECT_TRUE(launch_directly(task)[2].cpus.empty());
}

TEST_F(Launching, TunedWorkersKeepTheirHeap) {
  EXPECT_THAT(line_of(launch_openmpi_tuned(task)[0]), HasSubstr("env MALLOC_MMAP_MAX_=0"));
  EXPECT_THAT(line_of(launch_mpich_tuned(task)[0]), EndsWith("worker directory"));
}

TEST_F(Launching, RanksAreMappedBySlot) {
  use_testbed(3, false);
  std::string line = line_of(launch_openmpi(task)[0]);
  EXPECT_THAT(line, HasSubstr("testbed exec --name bench host1 -- mpirun.openmpi -np 6"));
  EXPECT_THAT(line, HasSubstr("--host host1:2,host2:2,host3:2 --map-by slot"));
  EXPECT_THAT(line_of(launch_mpich(task)[0]), HasSubstr("-hosts host1:2,host2:2,host3:2"));
  EXPECT_THAT(line_of(launch_gloo(task)[1]),
              HasSubstr("testbed exec --name bench host1 -- env RANK=1"));
  EXPECT_THAT(line_of(launch_gloo(task)[1]), EndsWith("directory host1"));
}

TEST_F(Launching, RanksAreMappedByNode) {
  use_testbed(3, true);
  EXPECT_THAT(line_of(launch_openmpi(task)[0]), HasSubstr("--map-by node"));
  EXPECT_THAT(line_of(launch_mpich(task)[0]), HasSubstr("-hosts host1:1,host2:1,host3:1"));
  EXPECT_THAT(line_of(launch_gloo(task)[4]),
              HasSubstr("host2 -- env RANK=4 WORLD_SIZE=6 LOCAL_RANK=1"));
}

}  // namespace
}  // namespace tutti::bench
