// Event log of a run in JSON Lines, written by comm, launch and train and read by viewers.
//
// Every line is an object with "time" (ISO 8601, UTC), "ns" (since the Unix epoch), "rank", "host" and "kind"; the
// other fields depend on the kind. docs/formats/run-folder.md lists the kinds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tutti/os/unique_fd.h"

namespace tutti::runs {

using EventValue = std::variant<bool, std::int64_t, double, std::string>;
using EventField = std::pair<std::string_view, EventValue>;

// Appends the events of one rank to `<folder>/events-rank<r>.jsonl`, or of the launcher (rank -1) to
// events-launcher.jsonl. Each event is one write(2) of one line, so a crash loses no event that was written, and lines
// of several threads do not interleave. Thread-safe.
class EventLog {
 public:
  // A log that drops all events, for runs without a run directory.
  EventLog() = default;
  // Creates the directory if it is missing. Throws IoError (DDL-7-01) if the file cannot be opened.
  EventLog(const std::filesystem::path& folder, int rank, std::string host);

  // Appends an event. NaN and infinity become null. Errors, such as a full disk, are ignored.
  void write(std::string_view kind, std::initializer_list<EventField> fields);
  bool is_open() const { return file_.is_open(); }

 private:
  os::UniqueFd file_;
  int rank_ = 0;
  std::string host_;
};

}  // namespace tutti::runs
