#include "tutti/launch/cli/program.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tutti/core/test_error.h"
#include "tutti/os/text_file.h"
#include "tutti/runs/job_folder.h"

namespace tutti::launch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Programs : public testing::Test {
 protected:
  Programs()
      : folder_(fs::path(testing::TempDir()) / ("launch_program_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    make("train.py", false);
    make("tool.py", true);
  }
  ~Programs() override { fs::remove_all(folder_); }
  std::string make(const std::string& name, bool executable) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << "x";
    if (executable) fs::permissions(path, fs::perms(0755));
    return path;
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  fs::path folder_;
};

TEST_F(Programs, FindsTheInstalledPython) {
  make("python3", true);
  EXPECT_THAT(complete_program({"python", "a.py", "--x"}, folder_.string()).arguments,
              ElementsAre("python3", "a.py", "--x"));
  make("python", true);
  EXPECT_THAT(complete_program({"python", "a.py"}, folder_.string()).arguments,
              ElementsAre("python", "a.py"));
}

TEST_F(Programs, ScriptsRunByThemselvesOrByPython) {
  EXPECT_THAT(complete_program({path("train.py"), "1"}, "/nowhere").arguments,
              ElementsAre("python", path("train.py"), "1"));
  EXPECT_THAT(complete_program({path("tool.py")}, "").arguments, ElementsAre(path("tool.py")));
  EXPECT_THAT(complete_program({"no_such.py"}, "").arguments, ElementsAre("no_such.py"));
}

TEST_F(Programs, ScriptsMustExist) {
  EXPECT_THAT(complete_program({"/v/bin/python3", "-u", "-W", "ignore", "a.py", "b.py"}, "").files,
              ElementsAre("a.py"));
  EXPECT_THAT(complete_program({"python", "-m", "torch.x", "a.py"}, "").files, IsEmpty());
  EXPECT_THAT(complete_program({"python", "-c", "print(1)"}, "").files, IsEmpty());
  EXPECT_THAT(complete_program({"python"}, "").files, IsEmpty());
  EXPECT_THAT(complete_program({"cat", "a.py"}, "").files, IsEmpty());
  EXPECT_THAT(error_of([] { complete_program({}, ""); }), HasSubstr("DDL-3-01"));
  EXPECT_THAT(error_of([] { complete_program({"", "a.py"}, ""); }), HasSubstr("DDL-3-01"));
}

TEST_F(Programs, RunFoldersAreNew) {
  runs::JobFolder one(folder_ / "logs"), two(folder_ / "logs");
  EXPECT_NE(one.path(), two.path());
  one.write("a", "b");
  one.log("a")->append("c");
  EXPECT_EQ(os::read_text(one.path() / "a"), "bc");
  one.events()->write("launch", {});
  EXPECT_THAT(os::read_text(one.path() / "events-launcher.jsonl"),
              HasSubstr("\"kind\":\"launch\""));
  EXPECT_THAT(error_of([&] { runs::JobFolder(path("train.py")); }), HasSubstr("DDL-3-18"));
}

}  // namespace
}  // namespace tutti::launch
