#include "tutti/os/text_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace tutti::os {
namespace {

namespace fs = std::filesystem;

TEST(ReadText, GivesTheBytesOrNothing) {
  std::string form = fs::temp_directory_path() / "text-XXXXXX";
  const fs::path folder = mkdtemp(form.data());
  const std::string content("one\r\ntwo\0three", 14);
  std::ofstream(folder / "file", std::ios::binary) << content;
  std::ofstream(folder / "empty").close();
  EXPECT_EQ(read_text(folder / "file"), content);
  EXPECT_EQ(read_text(folder / "empty"), "");
  EXPECT_EQ(read_text(folder / "none"), "");
  EXPECT_EQ(read_text(folder), "");
  EXPECT_FALSE(read_text("/proc/stat").empty());  // although stat reports size 0
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tutti::os
