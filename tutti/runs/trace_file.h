// Per-rank files in the run directory: the trace of all operations, and the flight record of the last ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "tutti/os/unique_fd.h"

namespace tutti::runs {

// Writer for trace-rank<r>.json, in the array form of the trace event format. Viewers accept it without the closing
// bracket, so a crash loses only buffered events. One thread at a time may call it.
class TraceFile {
 public:
  TraceFile() = default;
  // Creates the directory if it is missing. Throws IoError (DDL-7-10) if the file cannot be created.
  TraceFile(const std::filesystem::path& folder, int rank, const std::string& host);

  bool is_open() const { return file_.is_open(); }
  // Buffers one event, a JSON object followed by ",\n". Returns false if the buffer was full and could not be written
  // completely; its events are then lost.
  bool add(std::string_view event);
  // Writes the buffered events. Returns false if they could not be written completely.
  bool flush();

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  os::UniqueFd file_;
  std::string buffer_;
};

// Writes flight-rank<r>.json, replacing an older one. `operations` are JSON objects. Returns the path, or an empty path
// if it could not be written.
std::filesystem::path write_flight(const std::filesystem::path& folder, int rank,
                                   const std::string& host, std::string_view reason,
                                   std::span<const std::string> operations);

}  // namespace tutti::runs
