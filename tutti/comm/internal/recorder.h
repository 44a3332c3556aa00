// What a rank leaves in the run folder: events, the flight record, the trace of its operations. The
// files are described in docs/formats/run-folder.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include "tutti/comm/flight_record.h"
#include "tutti/core/events.h"
#include "tutti/core/options.h"

namespace tutti::comm {

// Safe from every thread. What cannot be written is said once and does no other harm.
class Recorder {
 public:
  // `flight` must outlive the recorder. Throws IoError when the folder cannot be written.
  Recorder(const Options& options, const FlightRecord& flight, int rank, std::string host);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Where a job without a run folder writes its trace, and when it fails: "tutti-run-<name>" here.
  // All ranks pass the same.
  void set_job_name(const std::string& name);

  EventLog& events() { return events_; }
  // Writes flight-rank<r>.json anew.
  void write_flight(std::string_view reason);
  bool traces() const { return trace_file_ >= 0; }
  // Adds a finished operation to trace-rank<r>.json; it is there after some operations or `flush`.
  void trace(const FlightEntry& entry);
  void flush();

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  void open_trace();
  void write_buffer();

  const FlightRecord& flight_;
  const int rank_;
  const std::string host_;
  std::mutex mutex_;              // guards what follows
  bool may_make_folder_ = false;  // was not told one
  bool wants_trace_ = false;
  std::filesystem::path folder_;  // empty: none
  EventLog events_;
  int trace_file_ = -1;
  std::string buffer_;  // of the trace
  bool has_complained_ = false;
};

}  // namespace tutti::comm
