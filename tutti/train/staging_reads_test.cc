// Staging reads every file once from shared storage. The kernel counts: opens of a file (inotify), and bytes read by
// this process (/proc/self/io).
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/train/staging.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

// Opens of the files of a directory since construction. inotify merges two opens without another event between them, so
// `closes` and bytes are counted too.
class Watch {
 public:
  explicit Watch(const fs::path& folder) : descriptor_(inotify_init1(IN_NONBLOCK)) {
    inotify_add_watch(descriptor_, folder.c_str(), IN_OPEN | IN_CLOSE_NOWRITE);
  }
  ~Watch() { close(descriptor_); }

  struct Uses {
    int opens = 0, closes = 0;
  };
  std::map<std::string, Uses> uses() const {
    std::map<std::string, Uses> result;
    alignas(inotify_event) char bytes[64 * 1024];
    for (ssize_t count; (count = read(descriptor_, bytes, sizeof(bytes))) > 0;)
      for (const char* at = bytes; at < bytes + count;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        if (event->len > 0 && !(event->mask & IN_ISDIR)) {
          Uses& uses = result[event->name];
          uses.opens += (event->mask & IN_OPEN) != 0;
          uses.closes += (event->mask & IN_CLOSE_NOWRITE) != 0;
        }
        at += sizeof(inotify_event) + event->len;
      }
    return result;
  }

 private:
  const int descriptor_;
};

double bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  double bytes = -1;
  file >> name >> bytes;
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

class StagingReads : public testing::Test {
 protected:
  // The slack, less than half of a large file, is for files that a communicator reads about the machine.
  static constexpr double kLarge = 9 << 20, kSmall = 3000, kSlack = 4e6;

  StagingReads() {
    std::string form = fs::temp_directory_path() / "reads-XXXXXX";
    base_ = mkdtemp(form.data());
    fs::create_directories(base_ / "shared");
    for (int i = 0; i < 3; ++i) write("large" + std::to_string(i), kLarge);
    for (int i = 0; i < 4; ++i) write("small" + std::to_string(i), kSmall);
  }
  ~StagingReads() override { fs::remove_all(base_); }

  void write(const std::string& name, double bytes) {
    std::ofstream(base_ / "shared" / name) << std::string(std::size_t(bytes), name.back());
  }
  // Every host has its own disk.
  void stage(const std::vector<std::string>& hosts) {
    comm::ThreadWorld world(static_cast<int>(hosts.size()), hosts);
    world.run([&](comm::Transport& transport) {
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      stage_files(*communicator, base_ / "shared",
                  base_ / hosts[static_cast<std::size_t>(transport.rank())]);
    });
  }
  fs::path base_;
};

TEST_F(StagingReads, OnceForAllHosts) {
  const std::vector<std::string> hosts = {"a", "a", "b", "b", "c"};
  const Watch watch(base_ / "shared");
  const double before = bytes_read();
  stage(hosts);
  const double read = bytes_read() - before;
  EXPECT_GE(read, 3 * kLarge + 4 * kSmall);
  EXPECT_LT(read, 3 * kLarge + 4 * kSmall + kSlack);
  const auto uses = watch.uses();
  EXPECT_EQ(uses.size(), 7u);
  for (const auto& [name, count] : uses) {
    EXPECT_EQ(count.opens, 1) << name;
    EXPECT_EQ(count.closes, 1) << name;
  }
  for (const std::string& host : hosts)
    for (const auto& entry : fs::directory_iterator(base_ / "shared"))
      EXPECT_EQ(fs::file_size(base_ / host / entry.path().filename()), entry.file_size());
}

TEST_F(StagingReads, NotAtAllWhenEveryHostHasThem) {
  stage({"a", "b"});
  fs::remove(base_ / "b" / "small1");  // missing on one host
  const Watch watch(base_ / "shared");
  const double before = bytes_read();
  stage({"a", "b"});
  EXPECT_LT(bytes_read() - before, kSmall + kSlack);
  const auto uses = watch.uses();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses.begin()->first, "small1");
  EXPECT_TRUE(fs::exists(base_ / "b" / "small1"));
}

}  // namespace
}  // namespace tutti::train
