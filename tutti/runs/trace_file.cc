#include "tutti/runs/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/json_quoted.h"
#include "tutti/runs/schema.h"

namespace tutti::runs {

TraceFile::TraceFile(const std::filesystem::path& folder, int rank, const std::string& host) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const auto path = folder / trace_file(rank);
  file_ = os::UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file_.is_open()) {
    throw IoError("DDL-7-10",
                  fmt::format("Cannot write the trace {}: {}. Choose a writable directory.",
                              path.string(), std::strerror(errno)));
  }
  buffer_ = fmt::format(
      "[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"name\":{1},"
      "\"host\":{2}}}}},\n",
      rank, json_quoted(fmt::format("rank {} on {}", rank, host)), json_quoted(host));
}

bool TraceFile::add(std::string_view event) {
  buffer_ += event;
  return buffer_.size() < kBufferBytes || flush();
}

bool TraceFile::flush() {
  if (!is_open() || buffer_.empty()) return true;
  const auto written = ::write(file_.get(), buffer_.data(), buffer_.size());
  const bool is_whole = written == static_cast<ssize_t>(buffer_.size());
  buffer_.clear();
  return is_whole;
}

std::filesystem::path write_flight(const std::filesystem::path& folder, int rank,
                                   const std::string& host, std::string_view reason,
                                   std::span<const std::string> operations) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const auto path = folder / flight_file(rank);
  std::ofstream file(path);
  file << fmt::format(
      "{{\"version\":1,\"rank\":{},\"host\":{},\"process\":{},\"written_ns\":{},\"reason\":{},\n"
      "\"operations\":[{}{}\n]}}\n",
      rank, json_quoted(host), ::getpid(), wall_ns(), json_quoted(reason),
      operations.empty() ? "" : "\n", fmt::join(operations, ",\n"));
  file.close();
  return file ? path : std::filesystem::path();
}

}  // namespace tutti::runs
