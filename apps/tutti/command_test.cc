#include "apps/tutti/command.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tutti/core/error.h"

namespace tutti::app {
namespace {

std::string last_call;

int note(int argc, char** argv) {
  last_call = argv[0];
  return argc;
}

int run(std::vector<std::string> arguments) {
  static constexpr Command kCommands[] = {{"one", "first", note}, {"two", "second", note}};
  last_call.clear();
  arguments.insert(arguments.begin(), "tutti");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return dispatch("tutti", kCommands, static_cast<int>(argv.size()), argv.data());
}

TEST(Dispatch, RunsTheNamedCommandWithItsArguments) {
  EXPECT_EQ(run({"two", "--flag"}), 2);
  EXPECT_EQ(last_call, "two");
}

TEST(Dispatch, HelpRunsNothing) {
  for (const char* argument : {"help", "--help", "-h"}) EXPECT_EQ(run({argument}), 0);
  EXPECT_EQ(run({}), 0);
  EXPECT_EQ(last_call, "");
}

TEST(Dispatch, UnknownNameIsAnError) {
  EXPECT_THROW(run({"three"}), ConfigError);
}

TEST(RunProgram, PrintsTheErrorAndReturnsItsCode) {
  EXPECT_EQ(run_program([] { return 7; }), 7);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_program([]() -> int { throw ConfigError("DDL-8-50", "No such thing."); }), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "tutti: DDL-8-50 No such thing.\n");
}

TEST(SplitSetting, ReturnsNameAndValue) {
  using Setting = std::pair<std::string, std::string>;
  EXPECT_EQ(split_setting("--set", "batch=32"), (Setting{"batch", "32"}));
  EXPECT_EQ(split_setting("--set", "model=a=b"), (Setting{"model", "a=b"}));
  EXPECT_EQ(split_setting("--set", "model="), (Setting{"model", ""}));
  EXPECT_THROW(split_setting("--set", "batch"), ConfigError);
  EXPECT_THROW(split_setting("--set", "=32"), ConfigError);
}

}  // namespace
}  // namespace tutti::app
