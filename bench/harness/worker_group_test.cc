#include "bench/harness/worker_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Workers as shell scripts: `body` runs for each command line, in $line.
class Groups : public testing::Test {
 protected:
  Groups() {
    std::string form = testing::TempDir() + "/workers-XXXXXX";
    folder_ = mkdtemp(form.data());
  }
  ~Groups() override { std::filesystem::remove_all(folder_); }

  std::vector<ProcessSpec> shell_workers(int ranks, const std::string& body) const {
    std::vector<ProcessSpec> specs;
    for (int rank = 0; rank < ranks; ++rank)
      specs.push_back(
          {{"sh", "-c",
            fmt::format(
                "exec <{0}/command-{1} >{0}/reply-{1}; echo ready; while read line; do {2}; "
                "done",
                folder_.string(), rank, body)},
           {fmt::format("RANK={}", rank)}});
    return specs;
  }

  static std::string failure_of(auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
  InterruptScope interrupt_;
};

TEST_F(Groups, EveryRankGetsTheCommandAndAnswersInOrder) {
  WorkerGroup group("echo", 3, folder_, shell_workers(3, "echo $RANK $line"), interrupt_);
  group.wait_until_ready(60);
  EXPECT_THAT(group.ask("go", 60), ElementsAre("0 go", "1 go", "2 go"));
  EXPECT_THAT(group.ask("again", 60), ElementsAre("0 again", "1 again", "2 again"));
}

TEST_F(Groups, ARankThatEndsIsReportedWithItsLastLines) {
  WorkerGroup group(
      "crash", 2, folder_,
      shell_workers(2, "test $RANK = 1 && { echo last words >&2; exit 7; }; echo fine"),
      interrupt_);
  group.wait_until_ready(60);
  std::string failure = failure_of([&] { group.ask("go", 60); });
  EXPECT_THAT(failure, HasSubstr("crash"));
  EXPECT_THAT(failure, HasSubstr("ended"));
  EXPECT_THAT(failure, HasSubstr("last words"));
}

TEST_F(Groups, ARankThatHangsIsNamed) {
  WorkerGroup group("hang", 3, folder_, shell_workers(3, "test $RANK = 2 || echo fine"),
                    interrupt_);
  group.wait_until_ready(60);
  EXPECT_THAT(failure_of([&] { group.ask("go", 0.2); }), HasSubstr("no answer from rank 2"));
}

TEST_F(Groups, AnErrorIsPassedOn) {
  WorkerGroup group("sorry", 1, folder_, shell_workers(1, "echo error wrong sum"), interrupt_);
  group.wait_until_ready(60);
  EXPECT_THAT(failure_of([&] { group.ask("go", 60); }), HasSubstr("wrong sum"));
}

TEST_F(Groups, AMissingProgramIsReported) {
  WorkerGroup group("none", 1, folder_, {{{"/no/such/program"}, {}}}, interrupt_);
  EXPECT_THAT(failure_of([&] { group.wait_until_ready(60); }),
              HasSubstr("cannot start /no/such/program"));
}

TEST_F(Groups, CtrlCThrowsAndLeavesNothingBehind) {
  {
    WorkerGroup group("slow", 1, folder_, shell_workers(1, "true"), interrupt_);
    group.wait_until_ready(60);
    raise(SIGINT);
    EXPECT_THROW(group.ask("go", 60), Interrupted);
  }
  // The worker had the last open end of the pipe.
  EXPECT_EQ(open((folder_ / "command-0").c_str(), O_WRONLY | O_NONBLOCK), -1);
  EXPECT_EQ(errno, ENXIO);
}

}  // namespace
}  // namespace tutti::bench
