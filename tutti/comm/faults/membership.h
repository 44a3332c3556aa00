// What a rank knows of the others of one communicator: where each was when last heard of, and how
// the communicator has failed.
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

// Safe from every thread.
class Membership {
 public:
  // `host` must outlive the membership.
  Membership(int id, int rank, std::vector<int> ranks, const topo::Layout& layout,
             const HostGroup& host);

  int id() const { return id_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const HostGroup& host() const { return host_; }
  int job_rank(int rank) const { return ranks_[rank]; }
  int rank_of_job(int job_rank) const;  // -1: no member
  bool is_local(int rank) const { return host_.index_of(rank) >= 0; }
  const std::string& host_of(int rank) const;
  // "rank 3 on host1"
  std::string name_of(int rank) const;
  std::vector<int> ranks_elsewhere() const;

  // Once failed, always failed: the first failure stays. Peers of the host learn of it.
  bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
  Result failure() const;
  // False when it had failed before.
  bool fail(const Result& failure);
  // Also looks at what the ranks of this host have failed with.
  Result look();
  // Fails when `whole` does, of which this is a part. Before the first operation; it must stay.
  void follow(Membership& whole) { whole_ = &whole; }
  // When it failed (monotonic clock), 0 before; and whether the program has been told.
  std::int64_t failed_ns() const { return failed_ns_.load(); }
  std::atomic<bool> is_delivered = false;

  // Of a rank of this host. The state of its process costs a system call or three.
  RankReport local_report(int member, bool with_process_state) const;
  std::vector<RankReport> local_reports() const;
  // Of a rank of another host, if it was heard of since then (monotonic clock).
  std::optional<RankReport> heard(int rank, std::int64_t since_ns) const;
  void hear(const RankReport& report);

  // Whom to ask about the other hosts: one rank of each, the next one where the last did not answer
  // within `patience_ns`.
  std::vector<int> ranks_to_ask(std::int64_t patience_ns);

 private:
  struct Heard {
    RankReport report;
    std::int64_t at_ns = 0;  // 0: never
  };
  struct Asked {
    std::int64_t at_ns = 0;
    std::size_t next = 0;
  };

  const int id_;
  const int rank_;
  const std::vector<int> ranks_;  // of the job
  const topo::Layout layout_;
  const HostGroup& host_;
  std::vector<int> host_index_;  // of each rank, in the layout

  std::atomic<Membership*> whole_ = nullptr;
  mutable Mutex mutex_;
  std::atomic<bool> has_failed_ = false;
  std::atomic<std::int64_t> failed_ns_ = 0;
  Result failure_ TUTTI_GUARDED_BY(mutex_) = Result::ok();
  std::vector<Heard> heard_ TUTTI_GUARDED_BY(mutex_);  // by rank
  std::vector<Asked> asked_ TUTTI_GUARDED_BY(mutex_);  // by host
};

}  // namespace tutti::comm
