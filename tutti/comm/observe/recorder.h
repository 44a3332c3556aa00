// Writes events, the flight record and the operation trace of a rank to the run directory. See
// docs/formats/run-folder.md for the files.
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

// Thread-safe. A file that cannot be written is reported once and does not affect the job.
class Recorder {
 public:
  // `flight` must outlive the recorder. Throws IoError if the directory cannot be written.
  Recorder(const Options& options, const FlightRecord& flight, int rank, std::string host);
  ~Recorder() { flush(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Names the directory, "tutti-run-<name>" in the working directory, for a job without a run directory that traces or
  // fails. All ranks pass the same name.
  void set_job_name(const std::string& name);

  runs::EventLog& events() { return events_; }
  // Replaces flight-rank<r>.json.
  void write_flight(std::string_view reason);
  bool traces() const { return trace_.is_open(); }
  // Appends a completed operation to trace-rank<r>.json. The file is written in batches; `flush` writes the rest.
  void trace(const FlightEntry& entry);
  void flush();

 private:
  void note_gaps(bool is_whole) TUTTI_REQUIRES(mutex_);

  const FlightRecord& flight_;
  const int rank_;
  const std::string host_;
  Mutex mutex_;
  bool may_make_folder_ TUTTI_GUARDED_BY(mutex_) = false;  // no directory was configured
  bool wants_trace_ TUTTI_GUARDED_BY(mutex_) = false;
  std::filesystem::path folder_ TUTTI_GUARDED_BY(mutex_);  // empty: no directory
  runs::EventLog events_;
  runs::TraceFile trace_;
  bool has_complained_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti::comm
