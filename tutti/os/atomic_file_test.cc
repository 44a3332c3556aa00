#include "tutti/os/atomic_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "tutti/os/text_file.h"

namespace tutti::os {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() {
    std::string form = fs::temp_directory_path() / "atomic-XXXXXX";
    directory_ = mkdtemp(form.data());
    target_ = directory_ / "file";
  }
  ~AtomicFileTest() override { fs::remove_all(directory_); }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
  }
  fs::path directory_, target_;
};

TEST_F(AtomicFileTest, ReplacesTheTargetAtOnce) {
  for (const Durability durability : {Durability::kPageCache, Durability::kDisk}) {
    ASSERT_FALSE(write_atomically(target_, "old", durability));
    AtomicFile file(target_);
    std::ofstream(file.draft()) << "new";
    EXPECT_EQ(read_text(target_), "old");
    ASSERT_FALSE(file.commit(durability));
    EXPECT_EQ(read_text(target_), "new");
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(AtomicFileTest, WithoutCommitTheTargetStays) {
  ASSERT_FALSE(write_atomically(target_, "old"));
  {
    AtomicFile first(target_), second(target_);
    EXPECT_NE(first.draft(), second.draft());
    std::ofstream(first.draft()) << "half";
    first = std::move(second);
  }
  EXPECT_EQ(read_text(target_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, TheDraftOfOneWriterIsOverwritten) {
  std::ofstream(directory_ / "file.part") << "left by a killed process";
  ASSERT_FALSE(write_atomically(target_, "new", Durability::kDisk, Writers::kOne));
  EXPECT_EQ(read_text(target_), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, FailuresHaveAReason) {
  EXPECT_EQ(write_atomically(directory_ / "none/file", "x"), std::errc::no_such_file_or_directory);
  EXPECT_TRUE(write_atomically("/dev/full/file", "x"));
  AtomicFile missing(target_);
  EXPECT_EQ(missing.commit(Durability::kDisk), std::errc::no_such_file_or_directory);
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace tutti::os
