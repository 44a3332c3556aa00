// Writer for TensorBoard event files with scalars.
//
// The file is a sequence of records (TFRecord): length (8 bytes), masked CRC-32C of the length, payload, masked CRC-32C
// of the payload. A payload is an Event message of tensorflow/core/util/event.proto, encoded here without the protobuf
// library. The first one has the file version, each of the others one scalar.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tutti::runs {

// Not thread-safe.
class TensorboardFile {
 public:
  // Creates `<folder>/events.out.tfevents.<seconds>.<host>`. Throws IoError (DDL-7-60) if that fails.
  explicit TensorboardFile(const std::filesystem::path& folder);

  // Appends one record and flushes it to the page cache. Write errors are ignored.
  void scalar(std::string_view tag, std::int64_t step, float value);
  const std::filesystem::path& path() const { return path_; }

 private:
  void record(const std::string& payload);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace tutti::runs
