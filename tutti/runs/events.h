// The run log: one JSON object per line, written by comm, launch and train, read by viewers. Every
// line has "time" (UTC text), "ns" (since 1970), "rank", "host", "kind"; the other fields belong to
// the kind. docs/formats/run-folder.md lists the kinds.
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

// Appends events of one rank to `<folder>/events-rank<r>.jsonl`, of the launcher (rank -1) to
// events-launcher.jsonl. Each event is one write of one line, so a crash loses nothing that was
// reported. Safe from every thread.
class EventLog {
 public:
  // Writes nothing: for runs without a folder.
  EventLog() = default;
  // Makes the folder when it is missing; throws IoError when it cannot.
  EventLog(const std::filesystem::path& folder, int rank, std::string host);

  void write(std::string_view kind, std::initializer_list<EventField> fields);
  bool is_open() const { return file_.is_open(); }

 private:
  os::UniqueFd file_;
  int rank_ = 0;
  std::string host_;
};

}  // namespace tutti::runs
