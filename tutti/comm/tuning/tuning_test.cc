#include "tutti/comm/tuning/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tutti/topo/layout.h"

namespace tutti::comm {
namespace {

namespace fs = std::filesystem;

topo::Grid grid_of(int hosts, int ranks_per_host) {
  topo::Layout layout;
  for (int h = 0; h < hosts; ++h) {
    layout.hosts.push_back({"host" + std::to_string(h), {}});
    for (int r = 0; r < ranks_per_host; ++r) {
      layout.hosts.back().ranks.push_back(h * ranks_per_host + r);
    }
  }
  return topo::make_grid(layout);
}

Tuning example() {
  Tuning tuning;
  tuning.eager_bytes = 4096;
  tuning.load = 1.5;
  tuning.measured = {
      {plan::Collective::kAllReduce, 1024, {.algorithms = {"direct", "ring"}, .seconds = 2e-5}},
      {plan::Collective::kAllReduce,
       1 << 20,
       {.algorithms = {"direct", "halving_doubling"}, .lanes = 2, .rails = 1, .seconds = 3e-3}}};
  return tuning;
}

class TuningFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tuning_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST(Tuning, IsOutdatedOnceTheMachineIsCalm) {
  Tuning tuning = example();
  EXPECT_TRUE(is_outdated(tuning, 0.1));
  EXPECT_FALSE(is_outdated(tuning, 1.4));  // nothing better to expect
  tuning.load = 0.3;
  EXPECT_FALSE(is_outdated(tuning, 0));
}

TEST(Tuning, RoundTrips) {
  const Tuning tuning = example();
  const auto read = parse_tuning(to_json(tuning, "key"), "key", grid_of(2, 2));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->eager_bytes, 4096);
  EXPECT_EQ(read->load, 1.5);
  ASSERT_EQ(read->measured.size(), 2u);
  EXPECT_EQ(read->measured[1].choice.algorithms, tuning.measured[1].choice.algorithms);
  EXPECT_EQ(read->measured[1].choice.lanes, 2);
  EXPECT_EQ(read->measured[1].choice.rails, 1);
  EXPECT_EQ(read->measured[1].choice.seconds, 3e-3);
  EXPECT_EQ(read->measured[0].bytes, 1024);
}

TEST(Tuning, MismatchedFilesAreIgnored) {
  const topo::Grid grid = grid_of(2, 2);
  const std::string good = to_json(example(), "key");
  EXPECT_FALSE(parse_tuning(good, "another key", grid));
  EXPECT_FALSE(parse_tuning(good.substr(0, good.size() / 2), "key", grid));
  for (const char* text :
       {"", "{}", "[]", "7", "null", "\xff\xfe", R"({"version":3,"key":"key"})"}) {
    EXPECT_FALSE(parse_tuning(text, "key", grid)) << text;
  }
  const auto with = [&](auto&& change) {
    Tuning tuning = example();
    change(tuning);
    return parse_tuning(to_json(tuning, "key"), "key", grid);
  };
  EXPECT_FALSE(with([](Tuning& t) { t.measured[0].choice.algorithms = {"magic"}; }));
  EXPECT_FALSE(with([](Tuning& t) { t.measured[0].choice.algorithms = {}; }));
  EXPECT_FALSE(with([](Tuning& t) { t.measured[0].choice.algorithms = {"ring", "direct"}; }));
  EXPECT_FALSE(with([](Tuning& t) { t.measured[0].choice.lanes = 0; }));
  EXPECT_FALSE(with([](Tuning& t) { t.measured[0].choice.lanes = 1000; }));
  EXPECT_FALSE(with([](Tuning& t) { t.measured[0].choice.seconds = -1; }));
  EXPECT_FALSE(with([](Tuning& t) { t.measured[0].bytes = 0; }));
  EXPECT_FALSE(with([](Tuning& t) { t.eager_bytes = 1 << 30; }));
  std::string other = good;
  other.replace(other.find("\"version\": 3"), 12, "\"version\": 9");
  EXPECT_FALSE(parse_tuning(other, "key", grid));
}

TEST(Tuning, KeysDifferByJob) {
  const topo::Machine machine = topo::synthetic_machine("pack:2 core:4 pu:1");
  const std::string key = tuning_key(machine, grid_of(2, 4), "mpi_Open MPI v4.1.4");
  EXPECT_NE(key, tuning_key(machine, grid_of(4, 2), "mpi_Open MPI v4.1.4"));
  EXPECT_NE(key, tuning_key(machine, grid_of(2, 4), "mpi_MPICH Version: 4.0.2"));
  EXPECT_NE(key, tuning_key(topo::synthetic_machine("pack:1 core:4 pu:1"), grid_of(2, 4),
                            "mpi_Open MPI v4.1.4"));
  EXPECT_THAT(key, testing::MatchesRegex("[A-Za-z0-9._+-]+"));
}

TEST_F(TuningFile, IsWrittenAndRead) {
  const fs::path file = folder_ / "new" / "folder" / "key.json";
  EXPECT_EQ(read_tuning(file), "");
  write_tuning(file, "one");
  write_tuning(file, "two");
  EXPECT_EQ(read_tuning(file), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1) << "a draft is left";
}

TEST_F(TuningFile, AnUnwritableDirectoryIsNotAnError) {
  std::ofstream(folder_ / "file") << "in the way";
  write_tuning(folder_ / "file" / "key.json", "text");
  EXPECT_EQ(read_tuning(folder_ / "file" / "key.json"), "");
  EXPECT_EQ(read_tuning(folder_), "");
}

}  // namespace
}  // namespace tutti::comm
