#include "tutti/launch/output/write_thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <string>

#include "tutti/os/process.h"

namespace tutti::launch {
namespace {

class WriteThreadTest : public testing::Test {
 protected:
  WriteThreadTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reading_ = os::UniqueFd(ends[0]);
    writing_ = std::make_shared<os::UniqueFd>(ends[1]);
  }
  // Larger than the pipe, so the write blocks until it is read.
  void post_large(WriteThread& thread) {
    thread.post(kBytes, [file = writing_] {
      os::write_all(file->get(), std::string(kBytes, 'x').data(), kBytes);
    });
  }
  static constexpr std::size_t kBytes = 1 << 20;
  os::UniqueFd reading_;
  std::shared_ptr<os::UniqueFd> writing_;  // shared with a thread that may outlive the test
};

TEST_F(WriteThreadTest, TheCallerNeverWaitsForAReader) {
  WriteThread thread([](std::size_t, std::size_t) {});
  for (int i = 0; i < 8; ++i) post_large(thread);
  EXPECT_EQ(thread.pending(), 8 * kBytes);
  std::size_t bytes = 0;
  for (std::string piece(65536, '\0'); bytes < 8 * kBytes;) {
    bytes += static_cast<std::size_t>(::read(reading_.get(), piece.data(), piece.size()));
  }
}

TEST_F(WriteThreadTest, ReportsWhenEverythingWasWritten) {
  std::promise<void> is_empty;
  WriteThread thread([&](std::size_t before, std::size_t after) {
    EXPECT_EQ(before - after, 3U);
    if (after == 0) is_empty.set_value();
  });
  std::atomic<int> writes = 0;
  for (int i = 0; i < 5; ++i) thread.post(3, [&] { ++writes; });
  is_empty.get_future().wait();
  EXPECT_EQ(writes, 5);
  EXPECT_EQ(thread.pending(), 0U);
}

TEST_F(WriteThreadTest, DoesNotWaitForABlockedWriteAtItsEnd) {
  {  // The test hangs if the destructor waits.
    WriteThread thread([](std::size_t, std::size_t) {});
    post_large(thread);
    std::string piece(1, '\0');
    ASSERT_EQ(::read(reading_.get(), piece.data(), 1), 1);  // the write has started
  }
  ::signal(SIGPIPE, SIG_IGN);
  reading_.close();  // ends the thread
}

TEST_F(WriteThreadTest, WritesToNonBlockingFilesToo) {
  ::fcntl(writing_->get(), F_SETFL, O_NONBLOCK);
  WriteThread thread([](std::size_t, std::size_t) {});
  post_large(thread);
  std::size_t bytes = 0;
  for (std::string piece(65536, '\0'); bytes < kBytes;) {
    bytes += static_cast<std::size_t>(::read(reading_.get(), piece.data(), piece.size()));
  }
  EXPECT_EQ(bytes, kBytes);
}

TEST(WriteAll, ReturnsTheError) {
  const os::UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(os::write_all(full.get(), "x", 1), ENOSPC);
}

}  // namespace
}  // namespace tutti::launch
