// What a rank leaves in the run folder: events, the flight record, the trace of its operations. The
// files are described in docs/formats/run-folder.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/comm/observe/flight_record.h"
#include "tutti/core/mutex.h"
#include "tutti/core/options.h"
#include "tutti/runs/events.h"
#include "tutti/runs/trace_file.h"

namespace tutti::comm {

// Safe from every thread. What cannot be written is said once and does no other harm.
class Recorder {
 public:
  // `flight` must outlive the recorder. Throws IoError when the folder cannot be written.
  Recorder(const Options& options, const FlightRecord& flight, int rank, std::string host);
  ~Recorder() { flush(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Where a job without a run folder writes its trace, and when it fails: "tutti-run-<name>" here.
  // All ranks pass the same.
  void set_job_name(const std::string& name);

  runs::EventLog& events() { return events_; }
  // Writes flight-rank<r>.json anew.
  void write_flight(std::string_view reason);
  bool traces() const { return trace_.is_open(); }
  // Adds a finished operation to trace-rank<r>.json; it is there after some operations or `flush`.
  void trace(const FlightEntry& entry);
  void flush();

 private:
  void note_gaps(bool is_whole) TUTTI_REQUIRES(mutex_);

  const FlightRecord& flight_;
  const int rank_;
  const std::string host_;
  Mutex mutex_;
  bool may_make_folder_ TUTTI_GUARDED_BY(mutex_) = false;  // was not told one
  bool wants_trace_ TUTTI_GUARDED_BY(mutex_) = false;
  std::filesystem::path folder_ TUTTI_GUARDED_BY(mutex_);  // empty: none
  runs::EventLog events_;
  runs::TraceFile trace_;
  bool has_complained_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::comm
