#include "tutti/comm/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tutti::comm {
namespace {

TEST(CommOptions, TheOldNameOfKeepaliveIsAccepted) {
  Options options(comm_options());
  EXPECT_TRUE(options.flag("keepalive"));
  apply_option_string(options, "-lifeline 0", "test");
  EXPECT_FALSE(options.flag("keepalive"));
}

TEST(CommOptions, TheOldVariableOfKeepaliveIsAccepted) {
  ::setenv("DDL_LIFELINE", "0", 1);
  const Options options(comm_options());
  ::unsetenv("DDL_LIFELINE");
  EXPECT_FALSE(options.flag("keepalive"));
}

}  // namespace
}  // namespace tutti::comm
