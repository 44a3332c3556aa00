// Scalars in the form that TensorBoard opens: records of length, payload and masked CRC-32C, the
// payload an Event message of tensorflow/core/util/event.proto, which is written by hand here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tutti::runs {

class TensorboardFile {
 public:
  // Makes `<folder>/events.out.tfevents.<seconds>.<host>`. Throws IoError when it cannot.
  explicit TensorboardFile(const std::filesystem::path& folder);

  void scalar(std::string_view tag, std::int64_t step, float value);
  const std::filesystem::path& path() const { return path_; }

 private:
  void record(const std::string& payload);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace tutti::runs
