#include "tutti/comm/observe/recorder.h"

#include <fmt/format.h>

#include <vector>

#include "tutti/core/clock.h"
#include "tutti/core/json_quoted.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"
#include "tutti/runs/schema.h"

namespace tutti::comm {
namespace {

// Converts the clock of the entries to wall-clock time, which is comparable across hosts.
std::int64_t wall_of(std::int64_t ticks) {
  static const std::int64_t offset = wall_ns() - now_ns();
  return monotonic_ns(ticks) + offset;
}

// Fields common to both files: `"sequence":1,"communicator":0,...`.
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
  events_ = runs::EventLog(folder_, rank_, host_);
  if (wants_trace_) trace_ = runs::TraceFile(folder_, rank_, host_);
}

void Recorder::set_job_name(const std::string& name) {
  const MutexLock lock(mutex_);
  if (!may_make_folder_) return;
  folder_ = "tutti-run-" + name;
  if (wants_trace_ && !traces()) trace_ = runs::TraceFile(folder_, rank_, host_);
}

void Recorder::write_flight(std::string_view reason) {
  const MutexLock lock(mutex_);
  if (folder_.empty()) return;
  std::vector<std::string> operations;
  for (const FlightEntry& entry : flight_.entries()) operations.push_back(flight_line(entry));
  const auto path = runs::write_flight(folder_, rank_, host_, reason, operations);
  if (path.empty()) {
    log::warning("DDL-7-11 Cannot write {}. Set the option run_folder to a writable directory.",
                 (folder_ / runs::flight_file(rank_)).string());
  } else {
    log::info("The last operations of this rank are in {}.", path.string());
  }
}

void Recorder::trace(const FlightEntry& entry) {
  const std::int64_t start = wall_of(entry.start_ticks);
  const std::string line = fmt::format(
      R"({{"name":"{}","cat":"comm","ph":"X","ts":{}.{:03},"dur":{:.3f},"pid":{},"tid":{},"args":{{{}}}}},)"
      "\n",
      plan::name_of(entry.record.collective), start / 1000, start % 1000,
      static_cast<double>(wall_of(entry.end_ticks) - start) * 1e-3, rank_, entry.communicator,
      fields_of(entry));
  const MutexLock lock(mutex_);
  note_gaps(trace_.add(line));
}

void Recorder::flush() {
  const MutexLock lock(mutex_);
  note_gaps(trace_.flush());
}

void Recorder::note_gaps(bool is_whole) {
  if (is_whole || has_complained_) return;
  has_complained_ = true;
  log::warning("DDL-7-12 The trace of this rank has gaps: its directory {} is full.",
               folder_.string());
}

}  // namespace tutti::comm
