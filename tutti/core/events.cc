#include "tutti/core/events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"

namespace tutti {
namespace {

std::string json_value(const EventValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) {
    return std::isfinite(*real) ? fmt::format("{}", *real) : "null";
  }
  return json_quoted(std::get<std::string>(value));
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

EventLog::EventLog(const std::filesystem::path& folder, int rank, std::string host)
    : rank_(rank), host_(std::move(host)) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const auto path =
      folder / (rank < 0 ? "events-launcher.jsonl" : fmt::format("events-rank{}.jsonl", rank));
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw IoError("DDL-7-01",
                  fmt::format("Cannot write the run log {}: {}. Choose a writable folder.",
                              path.string(), std::strerror(errno)));
  }
}

EventLog::~EventLog() {
  if (file_ >= 0) ::close(file_);
}

EventLog::EventLog(EventLog&& other) noexcept
    : file_(std::exchange(other.file_, -1)), rank_(other.rank_), host_(std::move(other.host_)) {}

EventLog& EventLog::operator=(EventLog&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(rank_, other.rank_);
  std::swap(host_, other.host_);
  return *this;
}

void EventLog::write(std::string_view kind, std::initializer_list<EventField> fields) {
  if (file_ < 0) return;
  const std::int64_t now = wall_ns();
  std::string line = fmt::format(R"({{"time":"{}","ns":{},"rank":{},"host":{},"kind":{})",
                                 utc_text(now), now, rank_, json_quoted(host_), json_quoted(kind));
  for (const auto& [name, value] : fields) {
    line += fmt::format(",{}:{}", json_quoted(name), json_value(value));
  }
  line += "}\n";
  [[maybe_unused]] const auto written = ::write(file_, line.data(), line.size());
}

}  // namespace tutti
