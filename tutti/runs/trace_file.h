// Files of a rank in the folder of a job: the trace of its operations and the flight record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "tutti/os/unique_fd.h"

namespace tutti::runs {

// trace-rank<r>.json: the array form of the trace-event format, which viewers read without its
// closing bracket, so a crash loses only buffered events. One thread at a time may call it.
class TraceFile {
 public:
  TraceFile() = default;
  // Creates the folder. Throws IoError if the file cannot be created.
  TraceFile(const std::filesystem::path& folder, int rank, const std::string& host);

  bool is_open() const { return file_.is_open(); }
  // Buffers one event, a JSON object followed by ",\n". Returns false if the buffer was full and
  // could not be written completely.
  bool add(std::string_view event);
  bool flush();

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  os::UniqueFd file_;
  std::string buffer_;
};

// Replaces flight-rank<r>.json; `operations` are JSON objects. Returns its path; empty if it could
// not be written.
std::filesystem::path write_flight(const std::filesystem::path& folder, int rank,
                                   const std::string& host, std::string_view reason,
                                   std::span<const std::string> operations);

}  // namespace tutti::runs
