#include "tutti/train/collective_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/core/error.h"

namespace tutti::train {
namespace {

using testing::ElementsAre;

// Message and exit code of each of three ranks if rank r fails with words[r].
std::vector<std::string> messages(const std::vector<std::string>& words) {
  std::vector<std::string> all(words.size());
  comm::ThreadWorld world(static_cast<int>(words.size()));
  world.run([&](comm::Transport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    try {
      collective_guard(*communicator, [&] {
        if (!words[rank].empty()) throw IoError("DDL-7-00", words[rank]);
      });
      all[rank] = "went on";
    } catch (const ReportedByAnotherRank& error) {
      all[rank] = "silent " + std::to_string(error.exit_code());
    } catch (const std::exception& error) {
      all[rank] = error_message(error);
    }
  });
  return all;
}

TEST(CollectiveGuard, AnErrorOfAllRanksIsReportedOnce) {
  EXPECT_THAT(messages({"no file", "no file", "no file"}),
              ElementsAre("DDL-7-00 no file", "silent 1", "silent 1"));
}

TEST(CollectiveGuard, RanksWithDifferentErrorsAreNamed) {
  EXPECT_THAT(messages({"", "no room", ""}),
              ElementsAre("silent 1", "DDL-9-63 rank 1: DDL-7-00 no room", "silent 1"));
  EXPECT_THAT(messages({"a", "b"}),
              ElementsAre("DDL-9-63 rank 0: DDL-7-00 a", "DDL-9-63 rank 1: DDL-7-00 b"));
}

TEST(CollectiveGuard, SuccessIsPassedThrough) {
  EXPECT_THAT(messages({"", "", ""}), ElementsAre("went on", "went on", "went on"));
}

// A rank that waits for a failed one gets an error instead of waiting forever.
TEST(CollectiveGuard, ARankThatFailsWhileOthersWait) {
  comm::ThreadWorld world(2);
  std::vector<std::string> all(2);
  Options options(comm::comm_options());
  options.set("run_folder", "none");
  world.run([&](comm::Transport& transport) {
    const int rank = transport.rank();
    const auto communicator = comm::Communicator::create(world.transport(rank), options);
    try {
      collective_guard(*communicator, [&] {
        if (rank == 1) throw IoError("DDL-7-00", "no room");
        communicator->barrier({.name = "data"});
      });
    } catch (const Error& error) {
      all[static_cast<std::size_t>(rank)] = error.code();
    }
  });
  EXPECT_THAT(all, ElementsAre(testing::StartsWith("DDL-4-"), "DDL-7-00"));
}

}  // namespace
}  // namespace tutti::train
