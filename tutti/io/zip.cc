#include "tutti/io/zip.h"

#include <fmt/format.h>
#include <zip.h>

#include <cstdint>
#include <memory>

#include "tutti/core/error.h"

namespace tutti::io {
namespace {

// Largest plausible compression ratio. Deflate reaches about 1000, so an entry that declares more is damaged, and its
// size must not be allocated.
constexpr std::uint64_t kMostPacked = 1100;

[[noreturn]] void fail(std::string_view name, const std::string& what) {
  throw IoError("DDL-9-03", fmt::format("{}: {}.", name, what));
}

using Archive = std::unique_ptr<zip_t, decltype(&::zip_discard)>;
using Entry = std::unique_ptr<zip_file_t, decltype(&::zip_fclose)>;

Archive open_archive(std::string_view bytes, std::string_view name) {
  if (bytes.empty()) fail(name, "not a zip file: it is empty");  // libzip accepts empty input
  zip_error_t error;
  ::zip_error_init(&error);
  zip_source_t* source = ::zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr ? nullptr : ::zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    const std::string what = fmt::format("not a zip file: {}", ::zip_error_strerror(&error));
    if (source != nullptr) ::zip_source_free(source);
    ::zip_error_fini(&error);
    fail(name, what);
  }
  ::zip_error_fini(&error);
  return {archive, &::zip_discard};
}

std::string read_entry(zip_t* archive, std::uint64_t index, const zip_stat_t& stat,
                       std::string_view name) {
  const bool is_possible = stat.comp_method == ZIP_CM_STORE
                               ? stat.size == stat.comp_size
                               : stat.size / kMostPacked <= stat.comp_size;
  if (!is_possible) fail(name, fmt::format("{} is damaged: its sizes differ", stat.name));
  const Entry entry(::zip_fopen_index(archive, index, 0), &::zip_fclose);
  if (entry == nullptr) fail(name, fmt::format("{}: {}", stat.name, ::zip_strerror(archive)));
  std::string content(stat.size, '\0');
  std::uint64_t done = 0;
  std::int64_t got = 1;
  while (done < content.size() && got > 0) {
    got = ::zip_fread(entry.get(), content.data() + done, content.size() - done);
    if (got > 0) done += static_cast<std::uint64_t>(got);
  }
  // libzip verifies the checksum when it reads past the last byte.
  char beyond = 0;
  if (done != content.size() || ::zip_fread(entry.get(), &beyond, 1) != 0)
    fail(name, fmt::format("{} is damaged", stat.name));
  return content;
}

}  // namespace

std::map<std::string, std::string> unzip(std::string_view bytes, std::string_view name) {
  const Archive archive = open_archive(bytes, name);
  std::map<std::string, std::string> files;
  const std::int64_t count = ::zip_get_num_entries(archive.get(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    zip_stat_t stat;
    constexpr std::uint64_t kNeeded =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (::zip_stat_index(archive.get(), index, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
      fail(name, "its directory is damaged");
    files[stat.name] = read_entry(archive.get(), index, stat, name);
  }
  return files;
}

}  // namespace tutti::io
