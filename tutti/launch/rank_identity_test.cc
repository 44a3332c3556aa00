#include "tutti/launch/rank_identity.h"

#include <gmock/gmock.h>

namespace tutti::launch {
namespace {

std::optional<RankIdentity> rank_in(const Environment& environment) {
  return find_rank([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(RankIdentity, EveryLauncherIsUnderstood) {
  const Environment open_mpi = {{"OMPI_COMM_WORLD_RANK", "5"},
                                {"OMPI_COMM_WORLD_SIZE", "8"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  const Environment mpich = {
      {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
  const Environment slurm = {
      {"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"DDL_HOST_LIST", "a:0,2,4,6;b:1,5"}};
  const Environment torch = {
      {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}};
  for (const Environment& environment : {open_mpi, mpich, slurm, torch}) {
    const auto identity = rank_in(environment);
    ASSERT_TRUE(identity);
    EXPECT_EQ(torch_variables(*identity), torch);
  }
}

TEST(RankIdentity, OurOwnListOfHostsKnowsBetter) {
  const auto identity = rank_in({{"PMI_RANK", "3"},
                                 {"PMI_SIZE", "4"},
                                 {"MPI_LOCALRANKID", "0"},
                                 {"MPI_LOCALNRANKS", "1"},
                                 {"DDL_HOST_LIST", "a:0,2,3;b:1"}});
  EXPECT_EQ(identity->local_rank, 2);
  EXPECT_EQ(identity->local_size, 3);
}

TEST(RankIdentity, NobodyOrNonsenseIsNoRank) {
  EXPECT_FALSE(rank_in({}));
  EXPECT_FALSE(rank_in({{"RANK", "1"}}));
  EXPECT_FALSE(rank_in({{"RANK", "one"}, {"WORLD_SIZE", "2"}}));
}

}  // namespace
}  // namespace tutti::launch
