#include "tutti/os/launcher_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tutti/core/error.h"

namespace tutti::os {
namespace {

Getenv lookup_in(const Environment& environment) {
  return [&environment](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
}

JobEnvironment job_with(const Environment& variables) {
  return find_job(lookup_in(variables));
}

std::optional<RankIdentity> rank_in(const Environment& variables) {
  return find_rank(lookup_in(variables));
}

TEST(FindJob, IsAloneWithoutALauncher) {
  EXPECT_EQ(job_with({}).kind, JobKind::kAlone);
  EXPECT_EQ(job_with({}).size, 1);
  EXPECT_EQ(job_with({{"RANK", "0"}}).kind, JobKind::kAlone);
  EXPECT_EQ(job_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).kind, JobKind::kAlone);
  EXPECT_EQ(job_with({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}).kind,
            JobKind::kAlone);
}

TEST(FindJob, KnowsEveryLauncher) {
  const Environment pairs = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                             {"PMI_RANK", "PMI_SIZE"},
                             {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                             {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
                             {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}};
  for (const auto& [rank, size] : pairs) {
    const JobEnvironment job = job_with({{rank, "3"}, {size, "7"}});
    EXPECT_EQ(job.kind, JobKind::kMpi) << rank;
    EXPECT_EQ(job.rank, 3);
    EXPECT_EQ(job.size, 7);
  }
  EXPECT_EQ(job_with({{"PMIX_RANK", "3"}}).size, -1);
  EXPECT_EQ(job_with({{"RANK", "3"}, {"WORLD_SIZE", "7"}}).kind, JobKind::kLocal);
}

TEST(FindJob, ABatchScriptIsNotAStep) {
  EXPECT_EQ(job_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}).kind, JobKind::kAlone);
}

TEST(FindJob, ALauncherBeneathMpirunWins) {
  const Environment mpirun = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  auto same = mpirun, other = mpirun;
  same.insert({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  other.insert({{"RANK", "5"}, {"WORLD_SIZE", "8"}});
  EXPECT_EQ(job_with(same).kind, JobKind::kMpi);
  EXPECT_EQ(job_with(other).kind, JobKind::kLocal);
  EXPECT_EQ(job_with(other).rank, 5);
}

TEST(FindJob, RejectsInvalidRanks) {
  EXPECT_THROW(job_with({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), ConfigError);
  EXPECT_THROW(job_with({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), ConfigError);
  EXPECT_THROW(job_with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), ConfigError);
  EXPECT_THROW(job_with({{"PMI_RANK", "1"}, {"PMI_SIZE", "1 "}}), ConfigError);
}

TEST(FindRank, RecognisesEveryLauncherThatSetsTheHost) {
  const Environment torch = {
      {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}};
  EXPECT_EQ(torch_variables(*rank_in(torch)), torch);
  for (const LauncherVariables& launcher : mpi_launchers()) {
    if (!launcher.local_size) continue;
    const auto identity = rank_in({{launcher.rank, "5"},
                                   {launcher.size, "8"},
                                   {launcher.local_rank, "1"},
                                   {launcher.local_size, "2"}});
    ASSERT_TRUE(identity) << launcher.name;
    EXPECT_EQ(torch_variables(*identity), torch) << launcher.name;
  }
  const auto srun =
      rank_in({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}});
  EXPECT_EQ(srun->local_rank, 1);
  EXPECT_EQ(srun->local_size, 1);
}

TEST(FindRank, MissingOrInvalidNumbersAreNoRank) {
  EXPECT_FALSE(rank_in({}));
  EXPECT_FALSE(rank_in({{"RANK", "1"}}));
  EXPECT_FALSE(rank_in({{"RANK", "one"}, {"WORLD_SIZE", "2"}}));
}

TEST(RankVariables, OfAllLaunchersCanBeUnset) {
  for (const LauncherVariables& launcher : mpi_launchers()) {
    ::setenv(launcher.rank, "1", 1);
    EXPECT_TRUE(std::getenv(launcher.rank));
  }
  ::setenv("WORLD_SIZE", "2", 1);
  unset_rank_variables();
  for (const LauncherVariables& launcher : mpi_launchers())
    EXPECT_FALSE(std::getenv(launcher.rank));
  EXPECT_FALSE(std::getenv("WORLD_SIZE"));
  EXPECT_TRUE(is_mpi_rank_variable("PMIX_NAMESPACE"));
  EXPECT_FALSE(is_mpi_rank_variable("OMPI_MCA_btl"));
}

}  // namespace
}  // namespace tutti::os
