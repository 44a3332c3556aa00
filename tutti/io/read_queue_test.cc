#include "tutti/io/read_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/io/read_pieces.h"

namespace tutti::io {
namespace {

constexpr std::int64_t kNumbers = 3'000'000;  // one read needs several requests

class ReadQueueTest : public testing::TestWithParam<ReadQueue::Engine> {
 protected:
  ReadQueueTest() {
    std::vector<std::int32_t> numbers(kNumbers);
    for (std::int64_t i = 0; i < kNumbers; ++i) numbers[i] = static_cast<std::int32_t>(i);
    std::ofstream(path_).write(reinterpret_cast<const char*>(numbers.data()), bytes());
  }
  ~ReadQueueTest() override { std::filesystem::remove(path_); }

  static constexpr std::int64_t bytes() { return kNumbers * 4; }
  static constexpr std::int64_t room() {
    return (bytes() + kReadAlignment - 1) / kReadAlignment * kReadAlignment;
  }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("tutti-read-queue-" + std::to_string(::getpid()));
  std::unique_ptr<std::byte, decltype(&std::free)> buffer_{
      static_cast<std::byte*>(std::aligned_alloc(kReadAlignment, 2 * room())), &std::free};
};

TEST_P(ReadQueueTest, ReadsWholeFileAndPart) {
  const auto queue = ReadQueue::open(path_, GetParam());
  const std::span<std::byte> all(buffer_.get(), room());
  queue->expect({&all, 1});
  const std::int64_t offset = 5 * kReadAlignment;
  queue->start(7, 0, bytes(), buffer_.get());
  queue->start(8, offset, kReadAlignment, buffer_.get() + room());
  queue->wait(8);
  queue->wait(7);
  const auto* whole = reinterpret_cast<const std::int32_t*>(buffer_.get());
  for (std::int64_t i = 0; i < kNumbers; ++i) ASSERT_EQ(whole[i], i);
  const auto* part = reinterpret_cast<const std::int32_t*>(buffer_.get() + room());
  for (std::int64_t i = 0; i < kReadAlignment / 4; ++i) ASSERT_EQ(part[i], offset / 4 + i);
}

TEST_P(ReadQueueTest, ReportsReadPastTheEnd) {
  const auto queue = ReadQueue::open(path_, GetParam());
  queue->start(1, 0, bytes() + 1, buffer_.get());
  EXPECT_THROW(queue->wait(1), IoError);
  queue->start(1, 0, kReadAlignment, buffer_.get());  // the queue stays usable
  queue->wait(1);
}

TEST_P(ReadQueueTest, ReportsMissingFile) {
  EXPECT_THROW(ReadQueue::open(path_.string() + "-missing", GetParam()), IoError);
}

TEST_P(ReadQueueTest, PiecesArePassedInOrder) {
  std::vector<FilePiece> pieces;
  for (std::int64_t i = 0; i < 40; ++i) pieces.push_back({i * 70'004, i * 100});
  std::size_t next = 0;
  read_pieces(path_, pieces, [&](std::span<const std::byte> piece) {
    ASSERT_EQ(static_cast<std::int64_t>(piece.size()), pieces[next].bytes);
    const auto* numbers = reinterpret_cast<const std::int32_t*>(piece.data());
    for (std::int64_t i = 0; i < pieces[next].bytes / 4; ++i)
      ASSERT_EQ(numbers[i], pieces[next].offset / 4 + i);
    ++next;
  });
  EXPECT_EQ(next, pieces.size());
}

INSTANTIATE_TEST_SUITE_P(Engines, ReadQueueTest,
                         testing::Values(ReadQueue::Engine::kAuto, ReadQueue::Engine::kThreads),
                         [](const auto& test) {
                           return test.param == ReadQueue::Engine::kAuto ? "Auto" : "Threads";
                         });

}  // namespace
}  // namespace tutti::io
