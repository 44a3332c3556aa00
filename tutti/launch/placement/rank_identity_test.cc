#include "tutti/launch/placement/rank_identity.h"

#include <gmock/gmock.h>

namespace tutti::launch {
namespace {

std::optional<os::RankIdentity> rank_in(const os::Environment& environment) {
  return find_rank([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(RankIdentity, TheHostListOfDdlrunTakesPrecedence) {
  const auto identity = rank_in({{"PMI_RANK", "3"},
                                 {"PMI_SIZE", "4"},
                                 {"MPI_LOCALRANKID", "0"},
                                 {"MPI_LOCALNRANKS", "1"},
                                 {"DDL_HOST_LIST", "a:0,2,3;b:1"}});
  EXPECT_EQ(identity->local_rank, 2);
  EXPECT_EQ(identity->local_size, 3);
}

TEST(RankIdentity, SlurmDoesNotSetTheRanksPerHost) {
  const auto identity = rank_in(
      {{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"DDL_HOST_LIST", "a:0,2,4,6;b:1,5"}});
  EXPECT_EQ(identity->local_rank, 1);
  EXPECT_EQ(identity->local_size, 2);
}

}  // namespace
}  // namespace tutti::launch
