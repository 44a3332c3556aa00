#include "tutti/io/zip.h"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zip.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tutti/core/error.h"

namespace tutti::io {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

const std::string kText(10'000, 'x');

// Bytes of an archive with a short and a long entry.
std::string archive_of(int method) {
  const auto path =
      std::filesystem::temp_directory_path() / ("tutti-zip-" + std::to_string(::getpid()));
  zip_t* archive = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  const auto add = [&](const char* name, const std::string& text) {
    const auto index = ::zip_file_add(
        archive, name, ::zip_source_buffer(archive, text.data(), text.size(), 0), ZIP_FL_OVERWRITE);
    ::zip_set_file_compression(archive, static_cast<std::uint64_t>(index), method, 0);
  };
  const std::string hello = "hello";
  add("a.txt", hello);
  add("b.txt", kText);
  EXPECT_EQ(::zip_close(archive), 0);
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  std::filesystem::remove(path);
  return bytes.str();
}

TEST(Zip, ReadsStoredAndDeflatedEntries) {
  for (const int method : {ZIP_CM_STORE, ZIP_CM_DEFLATE})
    EXPECT_THAT(unzip(archive_of(method), "f"),
                UnorderedElementsAre(Pair("a.txt", "hello"), Pair("b.txt", kText)));
}

TEST(Zip, RefusesDamage) {
  const std::string good = archive_of(ZIP_CM_STORE);
  EXPECT_THROW(unzip("", "f"), IoError);
  EXPECT_THROW(unzip("not an archive", "f"), IoError);
  EXPECT_THROW(unzip(good.substr(0, good.size() / 2), "f"), IoError);
  std::string changed = good;
  changed[good.find("hello")] = 'j';
  EXPECT_THROW(unzip(changed, "f"), IoError);
}

}  // namespace
}  // namespace tutti::io
