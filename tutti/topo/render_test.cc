#include "tutti/topo/render.h"

#include <gtest/gtest.h>

namespace tutti::topo {
namespace {

TEST(Render, Machine) {
  Machine machine = synthetic_machine("pack:1 numa:1(memory=16GiB) l2:2(size=2MiB) core:1 pu:2");
  machine.name = "host1";
  machine.cpu_model = "Some CPU";
  machine.cpu_quota = 1.5;
  machine.accelerators = {{.name = "cuda0", .model = "V100", .socket = 0, .memory = 16ll << 30},
                          {.name = "accel1"}};
  EXPECT_EQ(render(machine),
            "host1: Some CPU\n"
            "  processors    1 socket, 2 cores, 4 CPUs\n"
            "  memory        16.0 GiB in 1 NUMA node\n"
            "  caches        L2 2 x 2MiB (each for 2 CPUs)\n"
            "  may use       CPUs 0-3, time of 1.5 of them\n"
            "  accelerators  cuda0 V100 16.0 GiB (socket 0)\n"
            "                accel1\n");
}

TEST(Render, LayoutAndGrid) {
  const Layout layout = {{{"a", {0, 2, 3}}, {"host2", {1}}}};
  EXPECT_EQ(render(layout),
            "4 ranks on 2 hosts, 1 to 3 on each\n"
            "  a      ranks 0,2,3\n"
            "  host2  rank 1\n");
  EXPECT_EQ(render(make_grid(layout)),
            "*x2x1x1 = 4 ranks\n"
            "  accelerator      *  shared memory  0.3 us, 10 GB/s\n"
            "  node             2  network        30 us, 1.2 GB/s\n"
            "  rack             1\n"
            "  aisle            1\n");
  EXPECT_EQ(render(Layout()), "no ranks\n");
}

}  // namespace
}  // namespace tutti::topo
