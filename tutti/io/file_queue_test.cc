#include "tutti/io/file_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

namespace tutti::io {
namespace {

using std::chrono::microseconds;

constexpr std::int64_t kBytes = 5 << 20;  // three requests
using Buffer = std::unique_ptr<std::byte, decltype(&std::free)>;

Buffer buffer_of(std::int64_t bytes) {
  return {static_cast<std::byte*>(std::aligned_alloc(kIoAlignment, bytes)), &std::free};
}

std::byte value_at(std::int64_t i, int seed) {
  return static_cast<std::byte>((i / 4096 * 31 + i + seed) & 255);
}

void fill(std::byte* data, std::int64_t bytes, int seed) {
  for (std::int64_t i = 0; i < bytes; ++i) data[i] = value_at(i, seed);
}

bool has_values(const std::byte* data, std::int64_t bytes, int seed) {
  for (std::int64_t i = 0; i < bytes; ++i)
    if (data[i] != value_at(i, seed)) return false;
  return true;
}

class FileQueueTest : public testing::TestWithParam<FileQueue::Engine> {
 protected:
  FileQueueTest()
      : file_(::open(std::filesystem::temp_directory_path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC,
                     0600)) {}
  ~FileQueueTest() override { ::close(file_); }

  std::unique_ptr<FileQueue> queue(FaultInjector faults = {}) const {
    return FileQueue::create(file_, GetParam(), std::move(faults));
  }
  // Writes and reads back kBytes through `queue`; returns false if the bytes differ.
  static bool round_trip(FileQueue& queue) {
    const Buffer out = buffer_of(kBytes), in = buffer_of(kBytes);
    fill(out.get(), kBytes, 1);
    queue.start_write(1, kIoAlignment, kBytes, out.get());
    queue.wait(1);
    EXPECT_EQ(queue.result(1), 0);
    queue.start_read(2, kIoAlignment, kBytes, in.get());
    queue.wait(2);
    EXPECT_EQ(queue.result(2), 0);
    return has_values(in.get(), kBytes, 1);
  }

  const int file_;
};

TEST_P(FileQueueTest, RoundTrips) {
  EXPECT_TRUE(round_trip(*queue()));
}

TEST_P(FileQueueTest, ShortTransfersAreContinued) {
  std::atomic<int> requests = 0;
  const auto short_queue = queue([&](const RequestInfo& request) -> Fault {
    ++requests;
    return {.most_bytes = request.bytes / 2};
  });
  EXPECT_TRUE(round_trip(*short_queue));
  EXPECT_GT(requests, 6);
}

TEST_P(FileQueueTest, DelaysDoNotChangeData) {
  EXPECT_TRUE(
      round_trip(*queue([](const RequestInfo&) -> Fault { return {.delay = microseconds(200)}; })));
}

TEST_P(FileQueueTest, ErrorsAreReportedOnce) {
  for (const int error : {ENOSPC, EIO}) {
    bool fails = true;
    const auto failing = queue([&](const RequestInfo& request) -> Fault {
      return {.error = fails && request.offset == 0 ? error : 0};
    });
    const Buffer out = buffer_of(kBytes);
    fill(out.get(), kBytes, 3);
    failing->start_write(1, 0, kBytes, out.get());
    failing->wait(1);
    EXPECT_EQ(failing->result(1), error);
    EXPECT_EQ(failing->result(1), 0);
    fails = false;
    EXPECT_TRUE(round_trip(*failing));
  }
}

TEST_P(FileQueueTest, ReportsTheEndOfTheFile) {
  const auto empty = queue();
  const Buffer in = buffer_of(kIoAlignment);
  empty->start_read(1, 1 << 30, kIoAlignment, in.get());
  empty->wait(1);
  EXPECT_EQ(empty->result(1), FileQueue::kEndOfFile);
}

TEST_P(FileQueueTest, ThreadsShareAQueueAndATransfer) {
  const auto shared = queue();
  constexpr int kThreads = 4, kRounds = 20;
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) {
    const std::int64_t bytes = 1 << 20;
    const Buffer out = buffer_of(bytes), in = buffer_of(bytes);
    for (int round = 0; round < kRounds; ++round) {
      const std::int64_t id = 2 * (thread * kRounds + round), offset = thread * bytes;
      fill(out.get(), bytes, round);
      shared->start_write(id, offset, bytes, out.get());
      std::jthread other([&] { shared->wait(id); });
      shared->wait(id);
      shared->start_read(id + 1, offset, bytes, in.get());
      while (!shared->is_done(id + 1)) std::this_thread::yield();
      if (shared->result(id) != 0 || shared->result(id + 1) != 0 ||
          !has_values(in.get(), bytes, round))
        ++wrong;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(FileQueueTest, DestructorWaitsForTransfersInFlight) {
  const Buffer out = buffer_of(16 << 20);
  fill(out.get(), 16 << 20, 5);
  queue([](const RequestInfo&) -> Fault {
    return {.delay = microseconds(500)};
  })->start_write(1, 0, 16 << 20, out.get());
}

INSTANTIATE_TEST_SUITE_P(Engines, FileQueueTest,
                         testing::Values(FileQueue::Engine::kAuto, FileQueue::Engine::kThreads),
                         [](const auto& test) {
                           return test.param == FileQueue::Engine::kAuto ? "Auto" : "Threads";
                         });

}  // namespace
}  // namespace tutti::io
