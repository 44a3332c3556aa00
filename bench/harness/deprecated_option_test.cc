#include "bench/harness/deprecated_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace tutti::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Parsed {
  std::vector<std::string> values = {"default"};
  std::string help, log;

  explicit Parsed(const std::string& line) {
    CLI::App app;
    add_deprecated_option(app, "--old", "--new");
    app.add_option("--new", values, "Values")
        ->delimiter(',')
        ->check(CLI::IsMember({"default", "a", "b"}));
    help = app.help();
    testing::internal::CaptureStderr();
    try {
      app.parse(line);
    } catch (const CLI::ParseError& error) {
      values = {error.what()};
    }
    log = testing::internal::GetCapturedStderr();
  }
};

TEST(DeprecatedOption, SetsTheCurrentOneWithAWarning) {
  const Parsed old("--old a,b");
  EXPECT_THAT(old.values, ElementsAre("a", "b"));
  EXPECT_THAT(old.log, HasSubstr("option '--old' is deprecated; use '--new'"));
  EXPECT_THAT(old.help, Not(HasSubstr("--old")));
}

TEST(DeprecatedOption, IsCheckedLikeTheCurrentOne) {
  EXPECT_THAT(Parsed("--old c").values, ElementsAre(HasSubstr("--new")));
}

TEST(DeprecatedOption, TheCurrentOneDoesNotWarn) {
  const Parsed current("--new a");
  EXPECT_THAT(current.values, ElementsAre("a"));
  EXPECT_EQ(current.log, "");
}

}  // namespace
}  // namespace tutti::bench
