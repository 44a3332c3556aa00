#include "tutti/train/run/local_ranks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tutti::train {
namespace {

int run(const std::string& script, int ranks) {
  return run_local_ranks({{"/bin/sh", "-c", script}, ranks, {"TUTTI_TEST_WORD=word"}});
}

TEST(LocalRanks, EveryRankKnowsItselfAndTheOthers) {
  const std::string form = testing::TempDir() + "local_ranks_test.";
  EXPECT_EQ(run("echo $RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $TUTTI_TEST_WORD > " + form + "$RANK", 3),
            0);
  for (int rank = 0; rank < 3; ++rank) {
    std::ifstream file(form + std::to_string(rank));
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, std::to_string(rank) + " 3 3 word");
  }
}

TEST(LocalRanks, OneThatFailsEndsTheOthers) {
  EXPECT_EQ(run("test $RANK = 1 && exit 7; sleep 1000", 3), 7);
  EXPECT_EQ(run("test $RANK = 0 && kill -9 $$; sleep 1000", 2), 128 + 9);
}

TEST(LocalRanks, OneThatTheSystemKillsIsNamed) {
  testing::internal::CaptureStderr();
  run("test $RANK = 1 && kill -9 $$; sleep 1000", 2);
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_NE(output.find("Rank 1 was killed by signal 9"), std::string::npos) << output;
  EXPECT_NE(output.find("ran out of memory"), std::string::npos) << output;
  EXPECT_EQ(output.find("Rank 0"), std::string::npos) << output;  // killed by this process
  testing::internal::CaptureStderr();
  run("kill -2 $$", 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(LocalRanks, AMissingProgram) {
  EXPECT_EQ(run_local_ranks({{"/no/such/program"}, 1}), 127);
}

}  // namespace
}  // namespace tutti::train
