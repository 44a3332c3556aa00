#include "tutti/runs/job_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "tutti/core/test_error.h"
#include "tutti/os/text_file.h"

namespace tutti::runs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() : top_(testing::TempDir() + "run_folder_XXXXXX") {
    EXPECT_NE(::mkdtemp(top_.data()), nullptr);
  }
  ~RunFolderTest() override { fs::remove_all(top_); }
  static int mode_of(const fs::path& path) {
    return static_cast<int>(fs::status(path).permissions()) & 0777;
  }
  // Sets the modification times of the directory and its files to the year 2001.
  static void age(const fs::path& folder) {
    const timespec old[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    for (const auto& entry : fs::directory_iterator(folder)) {
      ::utimensat(AT_FDCWD, entry.path().c_str(), old, 0);
    }
    ::utimensat(AT_FDCWD, folder.c_str(), old, 0);
  }
  std::string top_;
};

TEST_F(RunFolderTest, IsForItsUserOnly) {
  const JobFolder folder(top_);
  folder.write("RANKFILE", "rank 0=a\n");
  EXPECT_EQ(folder.log("rank-0.log")->append("text"), 0);
  EXPECT_EQ(mode_of(folder.path()), 0700);
  EXPECT_EQ(mode_of(folder.path() / "RANKFILE"), 0600);
  EXPECT_EQ(mode_of(folder.path() / "rank-0.log"), 0600);
}

TEST_F(RunFolderTest, DoesNotFollowLinks) {
  const JobFolder folder(top_);
  const fs::path victim = fs::path(top_) / "victim";
  std::ofstream(victim) << "precious";
  fs::create_symlink(victim, folder.path() / "RANKFILE");
  fs::create_symlink(victim, folder.path() / "rank-0.log");
  EXPECT_THAT(error_of([&] { folder.write("RANKFILE", "x"); }), HasSubstr("DDL-3-39"));
  EXPECT_EQ(folder.log("rank-0.log")->append("x"), ELOOP);
  EXPECT_EQ(os::read_text(victim.string()), "precious");
}

// A limit on the file size makes writes fail as a full disk does.
TEST_F(RunFolderTest, AWriteThatFailsIsReported) {
  const JobFolder folder(top_);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{4, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { folder.write("RANKFILE", "rank 0=a\n"); });
  const int log_error = folder.log("rank-0.log")->append("longer than four");
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(error, HasSubstr("DDL-3-39 Cannot write " + (folder.path() / "RANKFILE").string()));
  EXPECT_EQ(log_error, EFBIG);
}

TEST_F(RunFolderTest, APrivateDirectoryIsCreatedOrRestricted) {
  const fs::path folder = fs::path(top_) / "DDLRUN-1";
  make_private_folder(folder);
  EXPECT_EQ(mode_of(folder), 0700);
  fs::permissions(folder, fs::perms(0777));
  make_private_folder(folder);
  EXPECT_EQ(mode_of(folder), 0700);
}

TEST_F(RunFolderTest, ALinkOrAFileIsNotAPrivateFolder) {
  fs::create_directory(fs::path(top_) / "real");
  fs::create_directory_symlink(fs::path(top_) / "real", fs::path(top_) / "link");
  std::ofstream(fs::path(top_) / "file") << "";
  for (const char* name : {"link", "file"}) {
    EXPECT_THAT(error_of([&] { make_private_folder(fs::path(top_) / name); }),
                HasSubstr("DDL-3-38"));
  }
}

TEST_F(RunFolderTest, AFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give directories away";
  const fs::path folder = fs::path(top_) / "DDLRUN-0";
  fs::create_directory(folder);
  ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
  EXPECT_THAT(error_of([&] { make_private_folder(folder); }),
              HasSubstr("it belongs to user 12345"));
}

TEST_F(RunFolderTest, OldFoldersAreRemoved) {
  const auto make = [&](const char* name, const char* file) {
    const fs::path folder = fs::path(top_) / name;
    fs::create_directory(folder);
    std::ofstream(folder / file) << "";
    age(folder);
    return folder;
  };
  const fs::path old = make("DDLRUN.20010909T000000.old", "rank-12.log");
  const fs::path with_results = make("DDLRUN.20010909T000000.mine", "result.json");
  const fs::path other = make("something", "rank-0.log");
  const JobFolder running(top_);
  age(running.path());
  const fs::path young = fs::path(top_) / "DDLRUN.20260101T000000.new";
  fs::create_directory(young);
  remove_old_run_folders(top_, 7);
  EXPECT_FALSE(fs::exists(old));
  for (const fs::path& kept : {with_results, other, running.path(), young}) {
    EXPECT_TRUE(fs::exists(kept)) << kept;
  }
}

TEST(Script, HasNoPrivateValues) {
  EXPECT_EQ(script_of("/my dir", {{"A", "b c"}, {"API_KEY", "hunter2"}}, {"API_KEY"},
                      {"mpirun", "-n", "2", "a b"}),
            "#!/bin/sh\ncd '/my dir'\nexport A='b c'\n"
            "export API_KEY  # its value is not stored: set it before\nexec mpirun -n 2 'a b'\n");
}

}  // namespace
}  // namespace tutti::runs
