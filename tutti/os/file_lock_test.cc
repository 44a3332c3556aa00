#include "tutti/os/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tutti/core/error.h"

namespace tutti::os {
namespace {

namespace fs = std::filesystem;

class FileLockTest : public testing::Test {
 protected:
  FileLockTest() {
    std::string form = fs::temp_directory_path() / "lock-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~FileLockTest() override { fs::remove_all(base_); }
  fs::path base_;
};

TEST_F(FileLockTest, OneHoldsAByte) {
  FileLock first(base_ / "lock"), second(base_ / "lock");
  EXPECT_TRUE(first.try_lock(7));
  EXPECT_FALSE(second.try_lock(7));
  EXPECT_TRUE(second.try_lock(8));
  first.unlock(7);
  second.lock(7);
  EXPECT_FALSE(first.try_lock(7));
  EXPECT_THROW(FileLock(base_ / "none/lock"), IoError);
}

// `started` is close-on-exec, so it reads end-of-file once the child has called exec. `cat` exits when its input ends.
TEST_F(FileLockTest, ChildrenHoldItWhenAsked) {
  for (const auto children : {FileLock::Children::kDoNotHold, FileLock::Children::kHold}) {
    int started[2], input[2];
    ASSERT_EQ(pipe2(started, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
    pid_t child = -1;
    {
      FileLock lock(base_ / "lock", children);
      ASSERT_TRUE(lock.try_lock());
      child = fork();
      if (child == 0) {
        dup2(input[0], STDIN_FILENO);
        execlp("cat", "cat", nullptr);
        _exit(1);
      }
    }
    close(started[1]);
    close(input[0]);
    char none;
    EXPECT_EQ(read(started[0], &none, 1), 0);  // the program runs
    EXPECT_EQ(FileLock(base_ / "lock").try_lock(), children == FileLock::Children::kDoNotHold);
    close(input[1]);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(FileLock(base_ / "lock").try_lock());
    close(started[0]);
  }
}

}  // namespace
}  // namespace tutti::os
