#include "tutti/topo/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/topo/number_list.h"

namespace tutti::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Hosts of the PowerAI example rankfile: 2 sockets with 16 cores, 4 accelerators.
Machine power_host(const std::string& name) {
  Machine machine = synthetic_machine("numa:2(memory=128GiB) pack:1 l3:1(size=10MiB) core:16 pu:4");
  machine.name = name;
  machine.cpu_model = "POWER9, altivec supported";
  for (int i = 0; i < 4; ++i) {
    machine.accelerators.push_back({.name = "cuda" + std::to_string(i),
                                    .model = "V100",
                                    .socket = i / 2,
                                    .memory = 16ll << 30});
  }
  return machine;
}

std::string machine_rejection(std::string_view text) {
  try {
    parse_machine(text, "m.txt");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Machine, CountsCoresAndUsableCpus) {
  Machine machine = power_host("host1");
  EXPECT_EQ(machine.sockets.size(), 2u);
  EXPECT_EQ(machine.core_count(), 32);
  EXPECT_EQ(machine.cpu_count(), 128);
  EXPECT_EQ(machine.usable_cpus(), 128);
  machine.cpu_quota = 2.5;
  EXPECT_EQ(machine.usable_cpus(), 3);
  EXPECT_EQ(Machine().usable_cpus(), 1);
}

TEST(Machine, TextIsReadBackExactly) {
  Machine machine = power_host("host1");
  machine.cpu_quota = 1.5;
  machine.memory += 12345;
  machine.allowed_cpus = {0, 2, 3, 4};
  EXPECT_EQ(parse_machine(to_text(machine)), machine);
  const Machine here = discover_machine();
  EXPECT_EQ(parse_machine(to_text(here)), here);
}

TEST(Machine, ShortTextIsEnough) {
  const Machine machine = parse_machine(
      "tutti machine 1\nname = small\nmemory = 8GiB\n[socket]\ncores = 0,2 1,3\n"
      "[socket]\ncores = none\n");
  EXPECT_EQ(machine.core_count(), 2);
  EXPECT_EQ(parse_machine(to_text(machine)), machine);
  EXPECT_THAT(machine.allowed_cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(machine.cpu_model, "unknown");
}

TEST(Machine, WrongTextIsRejected) {
  const std::string start = "tutti machine 1\nname = a\nmemory = 1GiB\n";
  EXPECT_THAT(machine_rejection(start), HasSubstr("m.txt: the machine has no cores"));
  EXPECT_THAT(machine_rejection(start + "[socket]\ncores = 0 0\n"),
              HasSubstr("CPU 0 is in two cores"));
  EXPECT_THAT(machine_rejection(start + "[socket]\ncores = 0 x\n"),
              HasSubstr("m.txt:5: cores = 0 x"));
  EXPECT_THAT(machine_rejection(start + "allowed_cpus = 7\n[socket]\ncores = 0\n"),
              HasSubstr("CPU 7"));
  EXPECT_THAT(
      machine_rejection(start + "[socket]\ncores = 0\n[accelerator]\nname = gpu0\nsocket = 1\n"),
      HasSubstr("gpu0 is on socket 1, but the last socket is 0"));
  EXPECT_THAT(machine_rejection(start + "[cache]\nlevel = 1\nbytes = 1\nkind = l1\n"),
              HasSubstr("m.txt:7: kind = l1 is not valid. Write data or instruction or unified"));
}

TEST(Machine, TextMayHaveCommentsBlanksAndEqualsSigns) {
  const Machine machine = parse_machine(
      "# ours\n tutti machine 1\r\nname = a b = c # why\nmemory=2KiB\n[socket]\ncores = 0,2  1,3\n"
      "[ socket ]\ncores=4");
  EXPECT_EQ(machine.name, "a b = c");
  EXPECT_EQ(machine.memory, 2048);
  ASSERT_EQ(machine.sockets.size(), 2u);
  EXPECT_THAT(machine.sockets[1].cores, ElementsAre(ElementsAre(4)));
}

TEST(Machine, TextErrorsNameFileLineAndRemedy) {
  const std::string start = "tutti machine 1\nname = x\n";
  EXPECT_THAT(machine_rejection(""),
              HasSubstr("m.txt:1: the first line must be 'tutti machine 1'"));
  EXPECT_THAT(machine_rejection("tutti machine 2\n"), HasSubstr("not 'tutti machine 2'"));
  EXPECT_THAT(machine_rejection("tutti machine 1\n"),
              HasSubstr("'name' is missing before the first"));
  EXPECT_THAT(machine_rejection("tutti machine 1\nnmae = x\n"),
              HasSubstr("m.txt:2: unknown key 'nmae' before the first section; the keys are name, "
                        "memory, cpu_model, allowed_cpus, cpu_quota"));
  EXPECT_THAT(machine_rejection(start + "[sckt]\n"),
              HasSubstr("the sections are [socket], [numa_node], [cache], [accelerator]"));
  EXPECT_THAT(machine_rejection(start + "[\n"), HasSubstr("m.txt:3: unknown section"));
  EXPECT_THAT(machine_rejection(start + "[]\n"), HasSubstr("m.txt:3: unknown section"));
  EXPECT_THAT(machine_rejection(start + "name = y\n"), HasSubstr("m.txt:3: 'name' is given"));
  EXPECT_THAT(machine_rejection("tutti machine 1\nname\n"),
              HasSubstr("not of the form key = value"));
  EXPECT_THAT(machine_rejection(start + "memory = 1GiB\n\n[cache]\nlevel = 1\n"),
              HasSubstr("m.txt:5: 'bytes' is missing in [cache]"));
}

TEST(Machine, TextValuesOfTheWrongKindAreRejected) {
  const std::string start = "tutti machine 1\nname = a\nmemory = 1GiB\n";
  EXPECT_THAT(machine_rejection("tutti machine 1\nname = a\nmemory = many\n"),
              HasSubstr("m.txt:3: memory = many"));
  EXPECT_THAT(machine_rejection(start + "[cache]\nlevel = 1.5\nbytes = 1\n"),
              HasSubstr("an integer of at least 1"));
  EXPECT_THAT(machine_rejection(start + "cpu_quota = maybe\n"),
              HasSubstr("a number of at least 0"));
  EXPECT_THAT(machine_rejection(start + "[socket]\ncores = 1 b\n"),
              HasSubstr("separated by spaces"));
  EXPECT_THAT(machine_rejection(start + "allowed_cpus = 1 2\n[socket]\ncores = 1 2\n"),
              HasSubstr("0-3,8"));
}

TEST(Machine, NamesAreWrittenSoThatTheyCanBeRead) {
  Machine machine = power_host(" a\nb #c ");
  machine.cpu_model = " \n";
  const Machine again = parse_machine(to_text(machine));
  EXPECT_EQ(again.name, "a b  c");
  EXPECT_EQ(again.cpu_model, "unknown");
}

TEST(NumberList, KeepsOrderAndFoldsRuns) {
  const std::vector<std::vector<int>> lists = {
      {}, {7}, {0, 1}, {0, 1, 2, 3, 8}, {3, 2, 1}, {0, 4, 8, 12}, {5, 6, 7, 5, 6, 7}};
  for (const auto& list : lists)
    EXPECT_EQ(parse_list(format_list(list)), list) << format_list(list);
  EXPECT_EQ(format_list(lists[3]), "0-3,8");
  EXPECT_EQ(format_list(lists[2]), "0,1");
  EXPECT_EQ(format_list(lists[0]), "none");
  for (const char* bad : {"", ",", "1,", "a", "3-1", "-1", "1--2", "0-99999999", "1 2"}) {
    EXPECT_THROW(parse_list(bad), ConfigError) << bad;
  }
}

TEST(Machine, TuningKeyIsStableAndPlain) {
  const std::string key = tuning_key(power_host("host1"));
  EXPECT_EQ(key, "power9-altivec-supported-2s-32c-128t-l3-10MiB-256GiB");
  Machine other = power_host("another");
  other.memory -= 1 << 20;
  other.allowed_cpus = {0};
  EXPECT_EQ(tuning_key(other), key);
  other.cpu_model = "other / cpu";
  EXPECT_THAT(tuning_key(other), testing::StartsWith("other-cpu-2s"));
}

TEST(Differences, EqualHostsHaveNone) {
  Machine other = power_host("host2");
  other.memory -= 100 << 20;
  EXPECT_THAT(differences(power_host("host1"), other), IsEmpty());
}

TEST(Differences, EachIsASentence) {
  Machine other = synthetic_machine("numa:1(memory=64GiB) pack:1 l3:1(size=8MiB) core:8 pu:2");
  other.name = "host2";
  other.cpu_quota = 4;
  EXPECT_THAT(
      differences(power_host("host1"), other),
      ElementsAre(
          "host1 has the processor POWER9, altivec supported, host2 has the processor unknown.",
          "host1 has 2 sockets, host2 has 1 socket.",
          "host1 has 16 + 16 cores on its sockets, host2 has 8 cores on its sockets.",
          "host1 has 128 processing units, host2 has 16 processing units.",
          "host1 has 2 NUMA nodes, host2 has 1 NUMA node.",
          HasSubstr("L3 unified of 10MiB shared by 64"),
          "host1 has 256.0 GiB of memory, host2 has 64.0 GiB of memory.",
          HasSubstr("cuda0 (V100, 16GiB, socket 0)"),
          "host1 has the usable CPUs 0-127, host2 has the usable CPUs 0-15.",
          "host1 has no CPU quota, host2 has a quota of 4 CPUs."));
}

}  // namespace
}  // namespace tutti::topo
