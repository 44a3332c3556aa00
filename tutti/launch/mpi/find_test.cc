#include "tutti/launch/mpi/find.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tutti/core/test_error.h"

namespace tutti::launch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FindMpi : public testing::Test {
 protected:
  FindMpi() : folder_(fs::path(testing::TempDir()) / ("launch_mpi_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~FindMpi() override { fs::remove_all(folder_); }
  void add(const std::string& name, const std::string& words) {
    std::ofstream(folder_ / name) << "x";
    fs::permissions(folder_ / name, fs::perms(0755));
    words_[folder_ / name] = words;
  }
  Mpi find(MpiSearch search) {
    search.path = folder_.string();
    return find_mpi(search, [&](const std::string& program, const std::string& argument) {
      return argument == "--mpi=list" ? "MPI plugin types are...\n\tpmi2\n\tpmix" : words_[program];
    });
  }
  fs::path folder_;
  std::map<std::string, std::string> words_;
};

TEST_F(FindMpi, NoneIsAnError) {
  EXPECT_THAT(error_of([&] { find({}); }), HasSubstr("DDL-3-13 No MPI was found"));
  add("mpirun", "I am a teapot");
  EXPECT_THAT(error_of([&] { find({}); }), HasSubstr("DDL-3-13"));
  EXPECT_THAT(error_of([&] { find({.wanted = "srun"}); }), HasSubstr("No Slurm's srun"));
  EXPECT_EQ(find({.wanted = "none", .own_program = "/bin/ddlrun"}).program, "/bin/ddlrun");
}

TEST_F(FindMpi, TheOneThatTuttiWasBuiltWithIsPreferred) {
  add("mpirun", "HYDRA build details:\n Version: 4.0.2");
  EXPECT_EQ(find({.built_with = "openmpi"}).launcher->name, "mpich");
  add("mpirun.openmpi", "mpirun.openmpi (Open MPI) 4.1.4");
  EXPECT_EQ(find({.built_with = "openmpi"}).program, folder_ / "mpirun.openmpi");
  EXPECT_EQ(find({.built_with = "mpich"}).program, folder_ / "mpirun");
  EXPECT_EQ(find({.wanted = "mpich", .built_with = "openmpi"}).program, folder_ / "mpirun");
  EXPECT_THAT(error_of([&] { find({.wanted = "spectrum"}); }), HasSubstr("No Spectrum MPI"));
}

TEST_F(FindMpi, SrunOnlyInsideSlurmOrWhenAsked) {
  add("srun", "slurm 22.05.8");
  EXPECT_THAT(error_of([&] { find({}); }), HasSubstr("DDL-3-13"));
  for (const MpiSearch& search : {MpiSearch{.in_slurm = true}, MpiSearch{.wanted = "srun"}}) {
    const Mpi mpi = find(search);
    EXPECT_EQ(mpi.launcher->name, "srun");
    EXPECT_EQ(mpi.plugin, "pmix");
  }
}

}  // namespace
}  // namespace tutti::launch
