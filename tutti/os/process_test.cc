#include "tutti/os/process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tutti/os/process_tree.h"

namespace tutti::os {
namespace {

TEST(Process, RunsToItsEnd) {
  const Outcome outcome = run({.arguments = {"sh", "-c", "pwd; echo $WORD; echo no >&2; exit 5"},
                               .environment = {"WORD=there"},
                               .directory = "/"},
                              30);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.output, "/\nthere\n");
  EXPECT_EQ(outcome.errors, "no\n");
}

TEST(Process, ProgramsKeepTheOldLimitOfOpenFiles) {
  rlimit before{}, after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  raise_file_limit();
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(run({.arguments = {"sh", "-c", "ulimit -n"}}, 30).output,
            std::to_string(before.rlim_cur) + "\n");
}

TEST(Process, ExitsAreReported) {
  EXPECT_EQ(run({.arguments = {"sh", "-c", "kill -9 $$"}}, 30).exit_code, 128 + SIGKILL);
  const Outcome missing = run({.arguments = {"/no/such/program"}}, 30);
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_THAT(missing.errors, testing::HasSubstr("cannot start"));
  EXPECT_TRUE(run({.arguments = {"sleep", "60"}}, 0.05).timed_out);
  EXPECT_EQ(describe_end(3, 0), "ended with exit code 3");
  EXPECT_EQ(describe_end(0, SIGSEGV), "was killed by signal 11 (Segmentation fault)");
}

TEST(Process, ItsGroupEndsWithIt) {
  pid_t id = 0;
  {
    Process process({.arguments = {"sh", "-c", "sleep 1000 & echo $!; wait"}});
    char text[32] = {};
    ASSERT_GT(::read(process.output().get(), text, sizeof text - 1), 0);
    id = std::atoi(text);
    EXPECT_EQ(::kill(id, 0), 0);
  }
  // The group received SIGKILL. The process that inherits the child reaps it, possibly later.
  for (int i = 0; i < 1000 && ::kill(id, 0) == 0; ++i) {
    std::ifstream stat("/proc/" + std::to_string(id) + "/stat");
    std::string line;
    std::getline(stat, line);
    if (line.find(") Z") != line.npos) return;
    ::usleep(10000);
  }
  EXPECT_NE(::kill(id, 0), 0);
}

TEST(ProcessTree, ProcessesAreFoundByTheirEnvironment) {
  const std::string value = std::to_string(::getpid());
  Process marked({.arguments = {"sh", "-c", "setsid sleep 1000 & echo started; wait"},
                  .environment = {"TUTTI_TEST_MARK=" + value}});
  char text[8] = {};
  ASSERT_GT(::read(marked.output().get(), text, sizeof text), 0);
  Process other({.arguments = {"sleep", "1000"}});
  EXPECT_GE(kill_processes_with("TUTTI_TEST_MARK=" + value, 60), 2);
  while (!marked.has_ended()) ::usleep(1000);
  EXPECT_EQ(marked.exit_code(), 128 + SIGKILL);
  EXPECT_FALSE(other.has_ended());
}

// Runs in a separate process, because it adopts and kills all descendants.
TEST(ProcessTree, AllDescendantsAreFound) {
  const pid_t tester = ::fork();
  if (tester == 0) {
    become_subreaper();
    const pid_t child = ::fork();
    if (child == 0) {
      // A daemon: a grandchild in a new session that ignores SIGTERM.
      const char* script =
          "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 1000; sleep 1000\" &) ; sleep 1000";
      ::execl("/bin/sh", "sh", "-c", script, nullptr);
      ::_exit(1);
    }
    while (descendants().size() < 4) ::usleep(1000);
    kill_descendants(30);
    ::_exit(descendants().empty() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(tester, &status, 0), tester);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::os
