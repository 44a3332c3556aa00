#include "tutti/runs/events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/json_quoted.h"
#include "tutti/runs/schema.h"

namespace tutti::runs {
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

EventLog::EventLog(const std::filesystem::path& folder, int rank, std::string host)
    : rank_(rank), host_(std::move(host)) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const auto path = folder / events_file(rank);
  file_ = os::UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file_.is_open()) {
    throw IoError("DDL-7-01",
                  fmt::format("Cannot write the run log {}: {}. Choose a writable directory.",
                              path.string(), std::strerror(errno)));
  }
}

void EventLog::write(std::string_view kind, std::initializer_list<EventField> fields) {
  if (!is_open()) return;
  const std::int64_t now = wall_ns();
  std::string line = fmt::format(R"({{"time":"{}","ns":{},"rank":{},"host":{},"kind":{})",
                                 utc_text(now), now, rank_, json_quoted(host_), json_quoted(kind));
  for (const auto& [name, value] : fields) {
    line += fmt::format(",{}:{}", json_quoted(name), json_value(value));
  }
  line += "}\n";
  [[maybe_unused]] const auto written = ::write(file_.get(), line.data(), line.size());
}

}  // namespace tutti::runs
