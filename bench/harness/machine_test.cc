#include "bench/harness/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::bench {
namespace {

using testing::HasSubstr;

constexpr const char* kCpuinfo =
    "processor\t: 0\nmodel name\t: A Fine CPU @ 2.0GHz\nphysical id\t: 0\nflags\t\t: fpu sse2 avx2 "
    "hypervisor\n\nprocessor\t: 1\nmodel name\t: A Fine CPU @ 2.0GHz\nphysical id\t: 1\nflags\t\t: "
    "fpu sse2 "
    "avx2 hypervisor\n";

TEST(Machine, ReadsProcText) {
  Machine machine = parse_machine(kCpuinfo, "MemFree: 1 kB\nMemTotal:       2048 kB\n");
  EXPECT_EQ(machine.cpu, "A Fine CPU @ 2.0GHz");
  EXPECT_EQ(machine.simd, "avx2");
  EXPECT_EQ(machine.sockets, 2);
  EXPECT_EQ(machine.memory_bytes, 2048 * 1024);
  EXPECT_TRUE(machine.virtual_machine);
}

TEST(Machine, MissingTextLeavesFieldsEmpty) {
  Machine machine = parse_machine("", "");
  EXPECT_EQ(machine.cpu, "");
  EXPECT_EQ(machine.sockets, 1);
  EXPECT_EQ(machine.memory_bytes, 0);
  EXPECT_THAT(one_line(machine), HasSubstr("unknown CPU"));
}

TEST(Machine, BusyIsMoreThanHalfOfTheCores) {
  Machine machine;
  machine.cores = 4;
  machine.load = 1.5;
  EXPECT_FALSE(is_busy(machine));
  machine.load = 3;
  EXPECT_TRUE(is_busy(machine));
}

TEST(Machine, ThisOneHasCoresAndMemory) {
  Machine machine = describe_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 0);
  EXPECT_THAT(one_line(machine), HasSubstr("core"));
}

}  // namespace
}  // namespace tutti::bench
