#include "tutti/comm/transport/shm/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tutti/comm/transport/shm/internal/anonymous_file.h"
#include "tutti/comm/transport/shm/internal/test_process.h"
#include "tutti/core/rounded_bytes.h"
#include "tutti/os/memory.h"

namespace tutti::comm {
namespace {

using internal::TestProcess;
using ::testing::HasSubstr;

std::set<std::string> names_in(const char* folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find("tutti") == 0) names.insert(entry.path());
  }
  return names;
}

std::filesystem::path scratch_folder() {
  return std::filesystem::temp_directory_path() / ("tutti_memory_test_" + std::to_string(getpid()));
}

TEST(SharedMemory, IsZeroedAndAligned) {
  for (const std::size_t bytes : {0, 1, 4095, 4096, 4097, 1 << 20}) {
    const auto memory = SharedMemory::create(bytes);
    EXPECT_EQ(memory->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 4096, 0);
    EXPECT_TRUE(std::all_of(memory->data(), memory->data() + bytes,
                            [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(SharedMemory, OpensInItsOwnProcessAsTheSameMapping) {
  const auto memory = SharedMemory::create(100);
  std::shared_ptr<SharedMemory> again;
  ASSERT_TRUE(SharedMemory::open(memory->handle(), &again));
  EXPECT_EQ(again, memory);
}

TEST(SharedMemory, IsSharedWithAnotherProcessAndOutlivesIt) {
  TestProcess child([](TestProcess& parent) {
    const auto memory = SharedMemory::create(10000);
    std::memset(memory->data(), 7, 10000);
    parent.send(memory->handle());
    parent.receive<int>();  // the parent has written
    return memory->data()[9999] == std::byte{8} ? 0 : 1;
  });
  const auto handle = child.receive<MemoryHandle>();
  std::shared_ptr<SharedMemory> memory, again;
  const Result opened = SharedMemory::open(handle, &memory);
  ASSERT_TRUE(opened) << opened.message();
  ASSERT_TRUE(SharedMemory::open(handle, &again));
  EXPECT_EQ(memory, again);
  EXPECT_EQ(memory->data()[0], std::byte{7});
  memory->data()[9999] = std::byte{8};
  child.send(1);
  EXPECT_EQ(child.join(), 0);
  EXPECT_EQ(memory->data()[5000], std::byte{7});
  memory.reset();
  again.reset();
  EXPECT_FALSE(SharedMemory::open(handle, &memory)) << "its creator has ended";
}

TEST(SharedMemory, AKilledProcessLeavesNothing) {
  const auto before = names_in("/dev/shm");
  TestProcess child([](TestProcess& parent) {
    const auto memory = SharedMemory::create(1 << 20);
    parent.send(memory->handle());
    parent.receive<int>();
    return 0;
  });
  const auto handle = child.receive<MemoryHandle>();
  EXPECT_EQ(child.end(SIGKILL), 128 + SIGKILL);
  std::shared_ptr<SharedMemory> memory;
  const Result opened = SharedMemory::open(handle, &memory);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.code(), "DDL-5-03");
  EXPECT_THAT(opened.message(), HasSubstr(std::to_string(handle.pid)));
  EXPECT_EQ(names_in("/dev/shm"), before);
}

TEST(SharedMemory, AHandleOfAnotherHostDoesNotOpenByChance) {
  const auto memory = SharedMemory::create(5000);
  std::shared_ptr<SharedMemory> opened;
  MemoryHandle handle = memory->handle();
  handle.nonce ^= 1;  // process and descriptor exist, but the memory differs
  EXPECT_FALSE(SharedMemory::open(handle, &opened));
  handle = memory->handle();
  handle.nonce ^= 2;
  handle.bytes += 4096;
  EXPECT_FALSE(SharedMemory::open(handle, &opened));
  EXPECT_FALSE(SharedMemory::open({1, 0, 1, 0}, &opened));
  EXPECT_FALSE(SharedMemory::open({-1, -1, 1, 100}, &opened));
  EXPECT_FALSE(SharedMemory::open({getpid(), 1 << 20, 1, ~0ull}, &opened));
  EXPECT_EQ(opened, nullptr);
}

TEST(SharedMemory, ADescriptorThatIsNoMemoryIsLeftAlone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::shared_ptr<SharedMemory> opened;
  const Result result = SharedMemory::open({getpid(), ends[0], 1, 4096}, &opened);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("other memory"));
  close(ends[0]);
  close(ends[1]);
}

TEST(SharedMemory, ReservedPagesExistAndReleasedOnesGo) {
  const auto memory = SharedMemory::create(1 << 20);
  const auto blocks = [&] {
    struct stat status{};
    fstat(memory->handle().fd, &status);
    return status.st_blocks * 512;
  };
  const auto empty = blocks();
  ASSERT_TRUE(memory->reserve(0, 1 << 20));
  EXPECT_EQ(blocks() - empty, 1 << 20);
  memory->data()[5000] = std::byte{1};
  memory->release(1, (1 << 20) - 1);  // all pages except the first, which is partial
  EXPECT_EQ(blocks() - empty, 4096);
  EXPECT_EQ(memory->data()[5000], std::byte{0});
}

TEST(SharedMemory, AnAbsurdSizeIsAnErrorThatStatesTheFreeSpace) {
  EXPECT_THROW(SharedMemory::create(SIZE_MAX), MemoryError);
  EXPECT_THROW(SharedMemory::create(std::size_t{1} << 60), MemoryError);
  const auto huge = static_cast<std::size_t>(os::free_memory().machine) * 2;
  const auto memory = SharedMemory::create(huge);  // reserves addresses only
  const Result result = memory->reserve(0, huge);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.code(), "DDL-5-02");
  EXPECT_THAT(result.message(), HasSubstr(rounded_bytes(huge)));
  EXPECT_THAT(result.message(), HasSubstr("on this machine"));
  EXPECT_FALSE(memory->reserve(huge - 1, 2)) << "past the end";
  EXPECT_TRUE(memory->reserve(huge, 0));
}

TEST(SharedMemory, AForkedChildReadsAndWritesButReleasesNothing) {
  const auto memory = SharedMemory::create(8192);
  memory->data()[0] = std::byte{3};
  TestProcess child([&](TestProcess&) {
    const bool same = memory->data()[0] == std::byte{3};
    memory->data()[1] = std::byte{4};
    memory->release(0, 8192);
    return same ? 0 : 1;
  });
  EXPECT_EQ(child.join(), 0);
  EXPECT_EQ(memory->data()[0], std::byte{3});
  EXPECT_EQ(memory->data()[1], std::byte{4});
}

TEST(AnonymousFile, LeavesNoNameWithoutMemfd) {
  const auto folder = scratch_folder();
  std::filesystem::create_directory(folder);
  const int file = internal::open_anonymous_file_in(folder.c_str());
  ASSERT_GE(file, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(write(file, "x", 1), 1);
  EXPECT_TRUE(fcntl(file, F_GETFD) & FD_CLOEXEC);
  close(file);
  std::filesystem::remove(folder);
  EXPECT_EQ(internal::open_anonymous_file_in("/no/such/folder"), -1);
}

}  // namespace
}  // namespace tutti::comm
