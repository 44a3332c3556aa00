// Decides how long a rank may wait in an operation, and names the ranks that block it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/comm/base/stall_handler.h"
#include "tutti/comm/faults/membership.h"
#include "tutti/comm/faults/monitor.h"
#include "tutti/core/options.h"

namespace tutti::comm {

// The wait loop calls on_stall about every 20 ms. Each call
// 1. returns the failure of the communicator, if there is one;
// 2. checks the known state of the peers: a rank that has left before this operation, or that is in a different
//    operation with the same sequence number, can never complete it, which is a failure;
// 3. after min(1 s, stall_seconds / 3), sends questions to the other hosts. The interval grows with the wait, so
//    thousands of ranks can wait for one;
// 4. after stall_seconds logs the missing ranks, then again each time the wait has doubled;
// 5. after the timeout fails with DDL-4-05.
// For a blocked receive it also looks for a cycle of receives and reports it as a deadlock. Time during which this
// process was itself stopped does not count.
//
// Not thread-safe: use one copy per thread.
class Watchdog : public StallHandler {
 public:
  explicit Watchdog(const Options& options);
  // Sets the communicator to monitor, once, before the first wait. Both must outlive the watchdog.
  void set_membership(Membership* membership, Monitor* monitor) {
    membership_ = membership;
    monitor_ = monitor;
  }
  // Starts a new operation and resets the stall state. `timeout` in s; 0: the value of the option.
  void begin(const OpRecord& record, double timeout = 0) {
    record_ = record;
    limit_ns_ = timeout > 0 ? static_cast<std::int64_t>(timeout * 1e9) : timeout_ns_;
    next_report_ns_ = stall_ns_;
    asked_since_ns_ = left_since_ns_ = last_look_ns_ = stood_still_ns_ = 0;
  }
  // Switches to the wait for the end of the job, which has no time limit: stalls are reported, and on_stall never
  // fails.
  void begin_end() {
    begin({});
    is_end_ = true;
  }
  Result on_stall(int rank, std::int64_t waited) override;

  // True if a stall of this operation was reported. The caller then calls report_recovery when the operation completes.
  bool has_reported() const { return next_report_ns_ != stall_ns_; }
  void report_recovery();

 private:
  bool is_message() const { return record_.sequence == 0 && !is_end_; }
  std::string operation() const { return is_end_ ? "finalize" : record_.text(); }
  Result check_peers(int rank);
  void report_stall(int rank);
  Result check_report(const RankReport& report);
  Result check_all();
  Result check_peer(int rank);  // for a point-to-point message
  bool has_left_for(std::int64_t nanoseconds);
  Result has_left(int rank) const;
  // A rank of another host has a report only if one arrived since `since_ns`.
  std::optional<RankReport> report_of(int rank, bool with_process_state,
                                      std::int64_t since_ns) const;
  void question(std::int64_t waited);
  // Describes the ranks that block this one; `awaited` if no rank is known to.
  std::string describe(int awaited) const;
  std::string describe(const RankReport& report) const;
  bool is_missing(const RankReport& report) const;
  // Describes a cycle of ranks that receive from each other; empty if this rank is not blocked by one.
  std::string describe_deadlock() const;
  std::string describe_silent(const std::vector<int>& ranks) const;

  std::int64_t timeout_ns_;
  std::int64_t limit_ns_ = timeout_ns_;  // limit of this operation
  std::int64_t stall_ns_;
  Membership* membership_ = nullptr;
  Monitor* monitor_ = nullptr;
  OpRecord record_;
  bool is_end_ = false;
  std::int64_t next_report_ns_ = 0;
  std::int64_t asked_since_ns_ = 0;  // time of the first question about this operation
  std::int64_t left_since_ns_ = 0;   // time at which an awaited rank was first seen to have left
  std::int64_t last_look_ns_ = 0;
  std::int64_t stood_still_ns_ = 0;  // time during which this process was stopped
  std::int64_t waited_ns_ = 0;
};

}  // namespace tutti::comm
