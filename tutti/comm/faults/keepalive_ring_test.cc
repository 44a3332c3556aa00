#include "tutti/comm/faults/keepalive_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

namespace tutti::comm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const auth::Secret kSecret = auth::Secret::generate();

// Polls both ends until nothing more happens; returns the ranks whose death `one` has detected.
std::vector<int> look(KeepaliveRing& one, KeepaliveRing* other = nullptr) {
  std::vector<int> dead;
  for (int quiet = 0; quiet < 3;) {
    std::vector<pollfd> files;
    one.add_files(files);
    if (other) other->add_files(files);
    quiet = ::poll(files.data(), files.size(), 20) > 0 ? 0 : quiet + 1;
    for (const int rank : one.find_dead()) dead.push_back(rank);
    if (other) {
      EXPECT_THAT(other->find_dead(), IsEmpty());
    }
  }
  return dead;
}

TEST(KeepaliveRing, ARankThatLeavesCleanlyIsNotDead) {
  KeepaliveRing one;
  auto other = std::make_unique<KeepaliveRing>();
  one.open(kSecret, 0);
  one.connect(1, other->open(kSecret, 1));
  EXPECT_THAT(look(one, other.get()), IsEmpty());
  other.reset();
  EXPECT_THAT(look(one), IsEmpty());
}

TEST(KeepaliveRing, ARankThatEndsWithoutANoticeIsDead) {
  KeepaliveRing one;
  const std::string address = one.open(kSecret, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    KeepaliveRing other;
    other.open(kSecret, 1);
    other.connect(0, address);
    for (;;) look(other);
  }
  while (one.established() == 0) EXPECT_THAT(look(one), IsEmpty());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(look(one), ElementsAre(1));
}

TEST(KeepaliveRing, RanksWithoutAddressAreNotExpected) {
  KeepaliveRing one;
  one.open(kSecret, 0);
  one.connect(1, "");
  one.connect(1, "1 here 127.0.0.1 not-an-address");
  EXPECT_THAT(look(one), IsEmpty());
}

TEST(KeepaliveRing, ProcessesWithoutTheSecretAreRefused) {
  KeepaliveRing one, other;
  const std::string address = one.open(kSecret, 0);
  other.open(auth::Secret::generate(), 3);
  other.connect(0, address);
  EXPECT_THAT(look(other, &one), IsEmpty());
  EXPECT_THAT(look(one), IsEmpty());
}

}  // namespace
}  // namespace tutti::comm
