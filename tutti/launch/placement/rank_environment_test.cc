#include "tutti/launch/placement/rank_environment.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tutti/core/test_error.h"
#include "tutti/launch/placement/placement.h"

namespace tutti::launch {
namespace {

using testing::HasSubstr;

Rankfile two_ranks() {
  return place({{"a"}}, topo::synthetic_machine("core:4 pu:1"), {.ranks = 2});
}

TEST(Environment, RanksGetTheVariablesThatScriptsExpect) {
  const Environment out =
      rank_environment({{"PATH", "/bin"}, {"VIRTUAL_ENV", "/v"}, {"HOME", "/h"}}, two_ranks(),
                       {.mode = "p:2x1x1x1",
                        .ddl_arguments = {"-dump_iter 100"},
                        .master_address = "a",
                        .master_port = 1234,
                        .restart = 1,
                        .python_folder = "/our/python"});
  EXPECT_EQ(out, (Environment{{"PATH", "/bin"},
                              {"VIRTUAL_ENV", "/v"},
                              {"DDL_OPTIONS", "-mode p:2x1x1x1 -dump_iter 100"},
                              {"DDL_HOST_LIST", "a:0,1"},
                              {"DDL_RESTART_COUNT", "1"},
                              {"TORCHELASTIC_RESTART_COUNT", "1"},
                              {"MASTER_ADDR", "a"},
                              {"MASTER_PORT", "1234"},
                              {"OMP_NUM_THREADS", "2"},
                              {"PYTHONPATH", "/our/python"},
                              {"PYTHONUNBUFFERED", "1"},
                              {"TUTTI_LAUNCH_PORT", "1234"},
                              {"WORLD_SIZE", "2"}}));
}

TEST(Environment, VariablesSetByTheUserWin) {
  const Environment own = {
      {"DDL_OPTIONS", "-mode r"}, {"OMP_NUM_THREADS", "7"}, {"MASTER_PORT", "99"},
      {"PYTHONPATH", "/mine"},    {"HOME", "/h"},           {"TUTTI_WATCH", "old"}};
  const Environment out = rank_environment(
      own, two_ranks(), {.exports = {"HOME", "A=b=c", "EMPTY="}, .python_folder = "/our"});
  EXPECT_EQ(out.at("DDL_OPTIONS"), "-mode p -mode r");
  EXPECT_EQ(out.at("OMP_NUM_THREADS"), "7");
  EXPECT_EQ(out.at("MASTER_PORT"), "99");
  EXPECT_EQ(out.at("PYTHONPATH"), "/our:/mine");
  EXPECT_EQ(out.at("HOME"), "/h");
  EXPECT_EQ(out.at("A"), "b=c");
  EXPECT_EQ(out.at("EMPTY"), "");
  EXPECT_FALSE(out.contains("TUTTI_WATCH"));
  EXPECT_FALSE(
      rank_environment(own, two_ranks(), {.sets_ddl_options = false}).contains("DDL_OPTIONS"));
}

TEST(Environment, ASecretIsNeverPassedOnToAnotherJob) {
  const Environment own = {{"TUTTI_JOB_SECRET", "abc"}};
  EXPECT_FALSE(rank_environment(own, two_ranks(), {}).contains("TUTTI_JOB_SECRET"));
}

TEST(Environment, ANestedJobInheritsNothingOfTheOuterOne) {
  Environment rank =
      rank_environment({{"PATH", "/bin"}, {"DDL_OPTIONS", "-timeout 9"}}, two_ranks(),
                       {.mode = "p:2x1x1x1",
                        .master_port = 1234,
                        .run_folder = "/tmp/DDLRUN-0/DDLRUN.20260101T000000.abc"});
  rank["RANK"] = rank["OMPI_COMM_WORLD_RANK"] = rank["PMIX_RANK"] = "1";
  rank["TUTTI_JOB_SECRET"] = "abc";
  rank["OMPI_MCA_btl"] = "tcp,self";
  const Environment inner = without_outer_job(rank);
  EXPECT_EQ(inner, (Environment{{"PATH", "/bin"},
                                {"DDL_OPTIONS", "-timeout 9"},
                                {"OMP_NUM_THREADS", "2"},
                                {"OMPI_MCA_btl", "tcp,self"},
                                {"PYTHONUNBUFFERED", "1"}}));
  rank["MASTER_PORT"] = "4321";
  rank["TUTTI_RUN_FOLDER"] = "/mine";
  EXPECT_EQ(without_outer_job(rank).at("MASTER_PORT"), "4321");
  EXPECT_EQ(without_outer_job(rank).at("TUTTI_RUN_FOLDER"), "/mine");
}

TEST(Environment, OutsideOfJobsIsUnchanged) {
  const Environment own = {{"MASTER_PORT", "99"}, {"RANK", "1"}, {"DDL_OPTIONS", "-mode r"}};
  EXPECT_EQ(without_outer_job(own), own);
}

TEST(Environment, UnknownVariablesAreNotExported) {
  for (const char* text : {"NOT_SET", "", "=1"}) {
    EXPECT_THAT(error_of([&] { rank_environment({}, two_ranks(), {.exports = {text}}); }),
                HasSubstr("DDL-3-16"))
        << text;
  }
}

TEST(Environment, RanksThatShareCoresGetOneThreadEach) {
  const Rankfile shared =
      place({{"a"}}, topo::synthetic_machine("core:4 pu:1"), {.ranks = 6, .oversubscribe = true});
  EXPECT_EQ(rank_environment({}, shared, {}).at("OMP_NUM_THREADS"), "1");
}

TEST(Environment, PythonModulesAreFoundNextToTheProgram) {
  namespace fs = std::filesystem;
  const fs::path top = fs::path(testing::TempDir()) / ("launch_python_" + std::to_string(getpid()));
  fs::create_directories(top / "bin");
  EXPECT_EQ(find_python_folder((top / "bin").string()), "");
  for (const char* place : {"lib/python3.11/site-packages", "lib/x86_64/python3/dist-packages"}) {
    fs::create_directories(top / place / "tutti");
    std::ofstream(top / place / "tutti/__init__.py") << "";
    EXPECT_EQ(find_python_folder((top / "bin").string()), fs::canonical(top / place).string());
    fs::remove_all(top / "lib");
  }
  fs::create_directories(top / "python/tutti");
  std::ofstream(top / "python/tutti/__init__.py") << "";
  EXPECT_EQ(find_python_folder((top / "bin").string()), fs::canonical(top / "python").string());
  fs::remove_all(top);
}

}  // namespace
}  // namespace tutti::launch
