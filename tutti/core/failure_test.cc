#include "tutti/core/failure.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tutti/core/error.h"

namespace tutti {
namespace {

TEST(Failure, FileErrorsHaveACodeAndARemedy) {
  try {
    std::filesystem::create_directories("/dev/null/folder");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(failure_text(error),
              "DDL-7-91 /dev/null/folder: Not a directory. Use a directory that exists or can be "
              "created, "
              "and is writable.");
    EXPECT_EQ(exit_code(error), 1);
  }
}

TEST(Failure, ErrorsOfTheLibraryKeepTheirMessage) {
  const ConfigError config("DDL-1-01", "No.");
  EXPECT_EQ(failure_text(config), config.what());
  EXPECT_EQ(exit_code(config), 2);
  EXPECT_EQ(exit_code(IoError("DDL-7-01", "No.")), 1);
}

}  // namespace
}  // namespace tutti
