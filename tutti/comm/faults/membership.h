// Membership table of one communicator: the last known state of each rank, and the first failure.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/comm/faults/control_message.h"
#include "tutti/comm/transport/shm/host_group.h"
#include "tutti/core/mutex.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

// Thread-safe.
class Membership {
 public:
  // `host` must outlive the table.
  Membership(int id, int rank, std::vector<int> ranks, const topo::Layout& layout,
             const HostGroup& host);

  int id() const { return id_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const HostGroup& host() const { return host_; }
  int job_rank(int rank) const { return ranks_[rank]; }
  int rank_of_job(int job_rank) const;  // -1: not a member
  bool is_local(int rank) const { return host_.index_of(rank) >= 0; }
  const std::string& host_of(int rank) const;
  // "rank 3 on host1"
  std::string name_of(int rank) const;
  std::vector<int> ranks_elsewhere() const;

  // The first failure is kept; later ones are ignored. Ranks of the same host see it in the shared control block.
  bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
  Result failure() const;
  // Returns false if the communicator had already failed.
  bool fail(const Result& failure);
  // Returns the failure, after also checking for failures published by other ranks of this host.
  Result look();
  // Makes this communicator fail when `whole`, its parent, fails. Call before the first operation; `whole` must outlive
  // it.
  void follow(Membership& whole) { whole_ = &whole; }
  // Time of the failure (monotonic clock, ns), 0 before; and a flag that is set once the program has received the
  // failure.
  std::int64_t failed_ns() const { return failed_ns_.load(); }
  std::atomic<bool> is_delivered = false;

  // State of a rank of this host. `with_process_state` costs up to three system calls.
  RankReport local_report(int member, bool with_process_state) const;
  std::vector<RankReport> local_reports() const;
  // Last report of a rank of another host; nullopt if none arrived since `since_ns` (monotonic clock, ns).
  std::optional<RankReport> last_report(int rank, std::int64_t since_ns) const;
  void record(const RankReport& report);

  // Ranks to send a question to: one per other host. If a rank does not reply within `reply_timeout_ns`, the next rank
  // of its host is returned instead.
  std::vector<int> ranks_to_ask(std::int64_t reply_timeout_ns);

 private:
  struct LastReport {
    RankReport report;
    std::int64_t at_ns = 0;  // 0: no report received
  };
  struct PendingQuery {
    std::int64_t at_ns = 0;
    std::size_t next = 0;
  };

  const int id_;
  const int rank_;
  const std::vector<int> ranks_;  // ranks in the job
  const topo::Layout layout_;
  const HostGroup& host_;
  std::vector<int> host_index_;  // index of each rank's host in the layout

  std::atomic<Membership*> whole_ = nullptr;
  mutable Mutex mutex_;
  std::atomic<bool> has_failed_ = false;
  std::atomic<std::int64_t> failed_ns_ = 0;
  Result failure_ TUTTI_GUARDED_BY(mutex_) = Result::ok();
  std::vector<LastReport> last_reports_ TUTTI_GUARDED_BY(mutex_);       // by rank
  std::vector<PendingQuery> pending_queries_ TUTTI_GUARDED_BY(mutex_);  // by host
};

}  // namespace tutti::comm
