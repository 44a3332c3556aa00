#include "tutti/os/shell.h"

#include <gmock/gmock.h>

#include "tutti/core/test_error.h"

namespace tutti::os {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Args = std::vector<std::string>;

TEST(Shell, LinesReadBack) {
  const Args words = {"mpirun", "-x", "A=b c", "", "it's", "$HOME", "p:2x2", "a\"b\\c", "*"};
  EXPECT_EQ(shell_line(words), R"(mpirun -x 'A=b c' '' 'it'\''s' '$HOME' p:2x2 'a"b\c' '*')");
  EXPECT_EQ(split_words(shell_line(words)), words);
}

TEST(Shell, SplitsQuotedArguments) {
  EXPECT_THAT(split_words(""), ElementsAre());
  EXPECT_THAT(split_words("  -a  \"b c\"d 'e f' g\\ h "), ElementsAre("-a", "b cd", "e f", "g h"));
  EXPECT_THAT(message_of([] { split_words("-a 'b"); }), HasSubstr("DDL-3-02"));
}

TEST(Shell, FindsPrograms) {
  EXPECT_EQ(find_program("sh", "/nowhere:/bin"), "/bin/sh");
  EXPECT_EQ(find_program("/bin/sh", ""), "/bin/sh");
  EXPECT_EQ(find_program("sh", "/nowhere"), "");
  EXPECT_EQ(find_program("", "/bin"), "");
  EXPECT_EQ(find_program("/bin", ""), "");         // a directory
  EXPECT_EQ(find_program("/etc/passwd", ""), "");  // not executable
}

}  // namespace
}  // namespace tutti::os
