// Decides how long a communicator's rank may wait: notices the dead, the lost and the mistaken, and
// names them.
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

// Serves one thread. Copies serve others.
class Watchdog : public StallHandler {
 public:
  explicit Watchdog(const Options& options);
  // Whom to watch; set once, before the first wait. Both must outlive the watch.
  void set_membership(Membership* membership, Monitor* monitor) {
    membership_ = membership;
    monitor_ = monitor;
  }
  // A new operation begins: its stall has not been reported. `timeout` in s; 0: as the options say.
  void begin(const OpRecord& record, double timeout = 0) {
    record_ = record;
    limit_ns_ = timeout > 0 ? static_cast<std::int64_t>(timeout * 1e9) : timeout_ns_;
    next_report_ns_ = stall_ns_;
    asked_since_ns_ = left_since_ns_ = last_look_ns_ = stood_still_ns_ = 0;
  }
  // From now on the watch serves the wait for the end of the job, which has no time limit: stalls
  // are reported, and `ask` does not fail.
  void begin_end() {
    begin({});
    is_end_ = true;
  }
  Result on_stall(int rank, std::int64_t waited) override;

  // Whether a stall of this operation was reported; to be told when it is over.
  bool has_reported() const { return next_report_ns_ != stall_ns_; }
  void report_recovery();

 private:
  bool is_message() const { return record_.sequence == 0 && !is_end_; }
  std::string operation() const { return is_end_ ? "finalize" : record_.text(); }
  Result check_peers(int rank);
  void report_stall(int rank);
  Result judge(const RankReport& report);
  Result judge_all();
  Result judge_peer(int rank);  // of a message
  bool has_left_for(std::int64_t nanoseconds);
  Result has_left(int rank) const;
  // Of a rank of another host only if it was heard of since then.
  std::optional<RankReport> report_of(int rank, bool with_process_state,
                                      std::int64_t since_ns) const;
  void question(std::int64_t waited);
  // Who keeps this rank waiting; `awaited` when nobody is known to.
  std::string describe(int awaited) const;
  std::string describe(const RankReport& report) const;
  bool is_missing(const RankReport& report) const;
  // Ranks that receive from each other in a circle, in words; empty if this rank waits for none.
  std::string describe_deadlock() const;
  std::string describe_silent(const std::vector<int>& ranks) const;

  std::int64_t timeout_ns_;
  std::int64_t limit_ns_ = timeout_ns_;  // of this operation
  std::int64_t stall_ns_;
  Membership* membership_ = nullptr;
  Monitor* monitor_ = nullptr;
  OpRecord record_;
  bool is_end_ = false;
  std::int64_t next_report_ns_ = 0;
  std::int64_t asked_since_ns_ = 0;  // when other hosts were first asked about this operation
  std::int64_t left_since_ns_ = 0;   // when an awaited rank was first seen to have left
  std::int64_t last_look_ns_ = 0;
  std::int64_t stood_still_ns_ = 0;  // this rank itself, stopped together with the job
  std::int64_t waited_ns_ = 0;
};

}  // namespace tutti::comm
