#include "tutti/comm/transport/mpi/mpi_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

JobEnvironment job_with(const std::map<std::string, std::string>& variables) {
  return find_job([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
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
  const std::map<std::string, std::string> pairs = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
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
  const std::map<std::string, std::string> mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                                                     {"OMPI_COMM_WORLD_SIZE", "2"}};
  auto same = mpirun, other = mpirun;
  same.insert({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  other.insert({{"RANK", "5"}, {"WORLD_SIZE", "8"}});
  EXPECT_EQ(job_with(same).kind, JobKind::kMpi);
  EXPECT_EQ(job_with(other).kind, JobKind::kLocal);
  EXPECT_EQ(job_with(other).rank, 5);
}

TEST(FindJob, RefusesWhatIsNoRank) {
  EXPECT_THROW(job_with({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), ConfigError);
  EXPECT_THROW(job_with({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), ConfigError);
  EXPECT_THROW(job_with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), ConfigError);
  EXPECT_THROW(job_with({{"PMI_RANK", "1"}, {"PMI_SIZE", "1 "}}), ConfigError);
}

TEST(MpiSettings, LeaveTheUsersAlone) {
  ASSERT_FALSE(mpi_settings().empty());
  for (const MpiSetting& setting : mpi_settings()) unsetenv(setting.variable);
  setenv(mpi_settings()[0].variable, "mine", 1);
  apply_mpi_settings();
  EXPECT_STREQ(std::getenv(mpi_settings()[0].variable), "mine");
  for (std::size_t i = 1; i < mpi_settings().size(); ++i) {
    EXPECT_STREQ(std::getenv(mpi_settings()[i].variable), mpi_settings()[i].value);
  }
}

}  // namespace
}  // namespace tutti::comm
