#include "tutti/runs/tensorboard.h"

#include <fmt/format.h>

#include <cstring>

#include "tutti/core/clock.h"
#include "tutti/core/crc32c.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"

namespace tutti::runs {
namespace {

std::string raw(const auto& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

// Protocol buffer fields: a key, (number << 3 | wire type), then the value. Wire types: 0 varint, 1 eight bytes, 2
// length and bytes, 5 four bytes.
std::string bytes_field(int number, std::string_view bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) +
         std::string(bytes);
}
std::string double_field(int number, double value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 1) + raw(value);
}
std::string float_field(int number, float value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 5) + raw(value);
}
std::string integer_field(int number, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) +
         varint(static_cast<std::uint64_t>(value));
}

std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

double wall_seconds() {
  return static_cast<double>(wall_ns()) * 1e-9;
}

}  // namespace

TensorboardFile::TensorboardFile(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  path_ =
      folder / fmt::format("events.out.tfevents.{}.{}", wall_ns() / 1000000000, os::host_name());
  file_.open(path_, std::ios::binary | std::ios::app);
  if (!file_)
    throw IoError("DDL-7-60", fmt::format("Cannot write {}. Check free space and permissions.",
                                          path_.string()));
  record(double_field(1, wall_seconds()) + bytes_field(3, "brain.Event:2"));
}

void TensorboardFile::scalar(std::string_view tag, std::int64_t step, float value) {
  const std::string summary = bytes_field(1, bytes_field(1, tag) + float_field(2, value));
  record(double_field(1, wall_seconds()) + integer_field(2, step) + bytes_field(5, summary));
}

void TensorboardFile::record(const std::string& payload) {
  const std::string length = raw(static_cast<std::uint64_t>(payload.size()));
  file_ << length << raw(masked(crc32c(length.data(), length.size()))) << payload
        << raw(masked(crc32c(payload.data(), payload.size())));
  file_.flush();
}

}  // namespace tutti::runs
