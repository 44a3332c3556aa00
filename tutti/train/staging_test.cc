#include "tutti/train/staging.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class StagingTest : public testing::Test {
 protected:
  StagingTest() {
    std::string form = fs::temp_directory_path() / "staging-XXXXXX";
    base_ = mkdtemp(form.data());
    fs::create_directories(base_ / "shared/deep");
    std::string more_than_one_chunk(9 << 20, 'a');
    more_than_one_chunk.back() = 'z';
    write("shared/a.h5", more_than_one_chunk);
    write("shared/deep/b.h5", "bbb");
    write("shared/empty", "");
  }
  ~StagingTest() override { fs::remove_all(base_); }
  void write(const fs::path& name, const std::string& text) {
    std::ofstream(base_ / name, std::ios::binary) << text;
  }
  void stage(int ranks) {
    comm::ThreadWorld world(ranks);
    world.run([&](comm::Transport& transport) {
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      stage_files(*communicator, base_ / "shared", base_ / "local");
    });
  }
  fs::path base_;
};

TEST_F(StagingTest, EveryFileArrives) {
  stage(3);
  for (const char* name : {"a.h5", "deep/b.h5", "empty"})
    EXPECT_EQ(contents(base_ / "local" / name), contents(base_ / "shared" / name)) << name;
  EXPECT_FALSE(fs::exists(base_ / "local/a.h5.part"));
}

TEST_F(StagingTest, StagedFilesAreNotReadAgain) {
  stage(2);
  write("shared/deep/b.h5", "ccc");  // the same size: taken for the same file
  write("shared/empty", "no more");
  stage(2);
  EXPECT_EQ(contents(base_ / "local/deep/b.h5"), "bbb");
  EXPECT_EQ(contents(base_ / "local/empty"), "no more");
}

TEST_F(StagingTest, AnEmptyDirectoryIsAccepted) {
  fs::remove_all(base_ / "shared");
  fs::create_directories(base_ / "shared");
  stage(2);
  EXPECT_TRUE(!fs::exists(base_ / "local") || fs::is_empty(base_ / "local"));
}

}  // namespace
}  // namespace tutti::train
