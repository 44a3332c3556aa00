#include "tutti/comm/internal/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

// Between the clock of entries and the one people and other hosts read.
std::int64_t wall_of(std::int64_t ticks) {
  static const std::int64_t offset = wall_ns() - now_ns();
  return monotonic_ns(ticks) + offset;
}

// What both files say about an operation: `"sequence":1,"communicator":0,...`.
std::string fields_of(const FlightEntry& entry) {
  const OpRecord& record = entry.record;
  return fmt::format(
      R"("sequence":{},"communicator":{},"tensor":{},"count":{},"dtype":"{}","op":"{}","root":{},"algorithm":{})",
      record.sequence, entry.communicator, json_quoted(record.name.data()), record.count,
      name_of(record.dtype), name_of(record.op), record.root,
      json_quoted(entry.algorithm ? entry.algorithm : ""));
}

std::string flight_line(const FlightEntry& entry) {
  const std::string end = entry.end_ticks == 0
                              ? R"("unfinished":true)"
                              : fmt::format(R"("end_ns":{})", wall_of(entry.end_ticks));
  return fmt::format(R"({{"collective":"{}",{},"start_ns":{},{}}})",
                     plan::name_of(entry.record.collective), fields_of(entry),
                     wall_of(entry.start_ticks), end);
}

}  // namespace

Recorder::Recorder(const Options& options, const FlightRecord& flight, int rank, std::string host)
    : flight_(flight), rank_(rank), host_(std::move(host)) {
  const std::string& folder = options.text("run_folder");
  if (folder == "none") return;
  may_make_folder_ = folder.empty();
  folder_ = folder;
  wants_trace_ = options.flag("trace");
  if (folder_.empty()) return;
  events_ = EventLog(folder_, rank_, host_);
  if (wants_trace_) open_trace();
}

Recorder::~Recorder() {
  flush();
  if (trace_file_ >= 0) ::close(trace_file_);
}

void Recorder::set_job_name(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (!may_make_folder_) return;
  folder_ = "tutti-run-" + name;
  if (wants_trace_ && trace_file_ < 0) open_trace();
}

void Recorder::write_flight(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const auto path = folder_ / fmt::format("flight-rank{}.json", rank_);
  std::string text = fmt::format(
      "{{\"version\":1,\"rank\":{},\"host\":{},\"process\":{},\"written_ns\":{},\"reason\":{},\n"
      "\"operations\":[",
      rank_, json_quoted(host_), ::getpid(), wall_ns(), json_quoted(reason));
  const char* separator = "\n";
  for (const FlightEntry& entry : flight_.entries()) {
    text += separator + flight_line(entry);
    separator = ",\n";
  }
  std::ofstream file(path);
  file << text << "\n]}\n";
  file.close();
  if (file) {
    log::info("The last operations of this rank are in {}.", path.string());
  } else {
    log::warning("DDL-7-11 Cannot write {}: choose a folder with the option run_folder.",
                 path.string());
  }
}

// The array form of the trace-event format, which viewers read without its closing bracket: a crash
// loses only what is buffered.
void Recorder::open_trace() {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const auto path = folder_ / fmt::format("trace-rank{}.json", rank_);
  trace_file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (trace_file_ < 0) {
    throw IoError("DDL-7-10",
                  fmt::format("Cannot write the trace {}: {}. Choose a writable folder.",
                              path.string(), std::strerror(errno)));
  }
  buffer_ = fmt::format(
      "[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{0},\"args\":{{\"name\":{1},"
      "\"host\":{2}}}}},\n",
      rank_, json_quoted(fmt::format("rank {} on {}", rank_, host_)), json_quoted(host_));
}

void Recorder::trace(const FlightEntry& entry) {
  const std::int64_t start = wall_of(entry.start_ticks);
  const std::string line = fmt::format(
      R"({{"name":"{}","cat":"comm","ph":"X","ts":{}.{:03},"dur":{:.3f},"pid":{},"tid":{},"args":{{{}}}}},)"
      "\n",
      plan::name_of(entry.record.collective), start / 1000, start % 1000,
      static_cast<double>(wall_of(entry.end_ticks) - start) * 1e-3, rank_, entry.communicator,
      fields_of(entry));
  const std::lock_guard lock(mutex_);
  buffer_ += line;
  if (buffer_.size() >= kBufferBytes) write_buffer();
}

void Recorder::flush() {
  const std::lock_guard lock(mutex_);
  write_buffer();
}

void Recorder::write_buffer() {
  if (trace_file_ < 0 || buffer_.empty()) return;
  const auto written = ::write(trace_file_, buffer_.data(), buffer_.size());
  if (written != static_cast<ssize_t>(buffer_.size()) && !has_complained_) {
    has_complained_ = true;
    log::warning("DDL-7-12 The trace of this rank has gaps: its folder {} is full.",
                 folder_.string());
  }
  buffer_.clear();
}

}  // namespace tutti::comm
