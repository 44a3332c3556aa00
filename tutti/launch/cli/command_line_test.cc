#include "tutti/launch/cli/command_line.h"

#include <gmock/gmock.h>

#include "tutti/core/test_error.h"
#include "tutti/launch/cli/options.h"

namespace tutti::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CommandLine parse(const std::vector<std::string>& arguments) {
  return parse_command_line(arguments);
}

TEST(CommandLine, NothingAtAll) {
  const CommandLine line = parse({});
  EXPECT_TRUE(line.program.empty());
  EXPECT_EQ(line.options.text("mode"), "p");
  EXPECT_EQ(line.number("ranks"), 0);
}

TEST(CommandLine, KnownOptionsWithOneOrTwoDashes) {
  for (const std::string dashes : {"-", "--"}) {
    const CommandLine line =
        parse({dashes + "m", "b:2x2", dashes + "H", "a,b", dashes + "accelerators", "2",
               dashes + "tcp", dashes + "skipchecks", dashes + "v", dashes + "mpiarg", "-pami_noib",
               dashes + "x", "A=1", dashes + "x", "B", "python", "-v", "train.py"});
    EXPECT_EQ(line.options.text("mode"), "b:2x2");
    EXPECT_EQ(line.options.text("host"), "a,b");
    EXPECT_EQ(line.number("accelerators"), 2);
    EXPECT_TRUE(line.options.flag("tcp"));
    EXPECT_TRUE(line.options.flag("skipchecks"));
    EXPECT_TRUE(line.options.flag("verbose"));
    EXPECT_THAT(line.list("mpiarg"), ElementsAre("-pami_noib"));
    EXPECT_THAT(line.list("x"), ElementsAre("A=1", "B"));
    EXPECT_THAT(line.program, ElementsAre("python", "-v", "train.py"));
  }
}

TEST(CommandLine, EveryKnownNameExists) {
  for (const char* name :
       {"m",       "mode",    "ddlarg",     "ddloption", "no_ddloptions", "rf",    "rankfile",
        "H",       "host",    "hostfile",   "aisles",    "racks",         "nodes", "accelerators",
        "sockets", "cores",   "t",          "tcp",       "mpiarg",        "x",     "skipchecks",
        "v",       "verbose", "h",          "n",         "dry_run",       "check", "max_restarts",
        "timeout", "log_dir", "tag_output", "version"}) {
    EXPECT_NE(find_argument(name), nullptr) << name;
  }
}

TEST(CommandLine, DashesInNamesEqualsSignsAndTheEndOfOptions) {
  const CommandLine line = parse({"--dry-run", "--max-restarts=3", "-n=4", "--", "-odd", "x"});
  EXPECT_TRUE(line.options.flag("dry_run"));
  EXPECT_EQ(line.options.integer("max_restarts"), 3);
  EXPECT_EQ(line.number("ranks"), 4);
  EXPECT_THAT(line.program, ElementsAre("-odd", "x"));
}

TEST(CommandLine, UnknownArgumentsAreExplained) {
  EXPECT_THAT(error_of([] { parse({"--hostfil", "f", "x"}); }), HasSubstr("Did you mean hostfile"));
  EXPECT_THAT(error_of([] { parse({"-H"}); }), HasSubstr("DDL-3-02 -H needs a value"));
  EXPECT_THAT(error_of([] { parse({"-n", "zero", "x"}); }), HasSubstr("DDL-1-03"));
  EXPECT_THAT(error_of([] { parse({"-n", "0", "x"}); }), HasSubstr("DDL-1-03"));
  EXPECT_THAT(error_of([] { parse({"-nodes", "-2", "x"}); }), HasSubstr("DDL-1-03"));
  EXPECT_THAT(error_of([] { parse({"-timeout", "soon", "x"}); }), HasSubstr("DDL-1-03"));
  EXPECT_THAT(error_of([] { parse({"-mpi", "pvm", "x"}); }), HasSubstr("one of: auto, openmpi"));
  EXPECT_THAT(error_of([] { parse({"---", "x"}); }), HasSubstr("DDL-3-02"));
  EXPECT_THAT(error_of([] { parse({"-H", "a", "-hostfile", "f"}); }), HasSubstr("DDL-3-03"));
  EXPECT_THAT(error_of([] { parse({"--check", "--dry-run"}); }), HasSubstr("DDL-3-03"));
}

TEST(Pages, AllNameEveryOption) {
  for (const char* what : {"help", "man", "completion", "reference"}) {
    const std::string text = page(what, "1.2.3");
    for (const char* name : {"hostfile", "max", "restarts", "oversubscribe"}) {
      EXPECT_THAT(text, HasSubstr(name)) << what;
    }
  }
  EXPECT_THAT(page("man", "1.2.3"), HasSubstr("Tutti 1.2.3"));
  EXPECT_THAT(page("help", ""), HasSubstr("--host, -H LIST"));
  EXPECT_THAT(error_of([] { page("poem", ""); }), HasSubstr("Unknown page 'poem'"));
}

}  // namespace
}  // namespace tutti::launch
