#include "tutti/comm/transport/mpi/mpi_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tutti::comm {
namespace {

TEST(MpiSettings, DoNotOverrideTheUsersSettings) {
  ASSERT_FALSE(mpi_settings().empty());
  for (const MpiSetting& setting : mpi_settings()) unsetenv(setting.variable);
  setenv(mpi_settings()[0].variable, "mine", 1);
  apply_mpi_settings();
  EXPECT_STREQ(std::getenv(mpi_settings()[0].variable), "mine");
  for (std::size_t i = 1; i < mpi_settings().size(); ++i) {
    EXPECT_STREQ(std::getenv(mpi_settings()[i].variable), mpi_settings()[i].value);
  }
}

}  // namespace
}  // namespace tutti::comm
