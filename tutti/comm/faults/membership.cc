#include "tutti/comm/faults/membership.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/comm/faults/pidfd.h"
#include "tutti/comm/observe/flight_record.h"
#include "tutti/core/clock.h"
#include "tutti/core/mutex.h"

// The state of a rank comes from two sources. Ranks of this host publish it in the shared control block, where it is
// read without a lock (local_report). Ranks of other hosts send reports, which the monitor records with their time
// (record, last_report). A query goes to one rank per host, which replies for all of them; if it has not replied by the
// next query, the next rank of that host is asked (ranks_to_ask).
//
// The first failure wins. `fail` stores it here and in the control block of the host. The other ranks find it in
// `look`, which every wait and every call makes: it examines the control block and, for a communicator that was split
// off, the membership of its parent.
namespace tutti::comm {

Membership::Membership(int id, int rank, std::vector<int> ranks, const topo::Layout& layout,
                       const HostGroup& host)
    : id_(id),
      rank_(rank),
      ranks_(std::move(ranks)),
      layout_(layout),
      host_(host),
      host_index_(ranks_.size()),
      last_reports_(ranks_.size()),
      pending_queries_(layout.hosts.size()) {
  for (std::size_t h = 0; h < layout.hosts.size(); ++h) {
    for (const int member : layout.hosts[h].ranks) host_index_[member] = static_cast<int>(h);
  }
}

int Membership::rank_of_job(int job_rank) const {
  const auto found = std::find(ranks_.begin(), ranks_.end(), job_rank);
  return found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
}

const std::string& Membership::host_of(int rank) const {
  return layout_.hosts[host_index_[rank]].name;
}

std::string Membership::name_of(int rank) const {
  return fmt::format("rank {} on {}", rank, host_of(rank));
}

std::vector<int> Membership::ranks_elsewhere() const {
  std::vector<int> out;
  for (int r = 0; r < size(); ++r) {
    if (!is_local(r)) out.push_back(r);
  }
  return out;
}

Result Membership::failure() const {
  if (!has_failed()) return Result::ok();
  const MutexLock lock(mutex_);
  return Result(failure_);
}

bool Membership::fail(const Result& failure) {
  const MutexLock lock(mutex_);
  if (has_failed()) return false;
  failure_ = failure;
  failed_ns_ = now_ns();
  host_.control_block().write_failure(host_.index(), failure);
  has_failed_.store(true, std::memory_order_release);
  return true;
}

Result Membership::look() {
  for (int member = 0; !has_failed() && member < host_.size(); ++member) {
    const Result status = host_.control_block().failure_of(member);
    if (!status) fail(status);
  }
  if (Membership* const whole = whole_; whole && !has_failed()) {
    const Result status = whole->look();
    if (!status) fail(status);
  }
  return failure();
}

RankReport Membership::local_report(int member, bool with_process_state) const {
  const RankBlock& block = host_.control_block().block(member);
  RankReport report;
  report.rank = host_.ranks()[member];
  report.process = block.process.load();
  report.since_ns = now_ns() - monotonic_ns(block.moved_ticks.load());
  report.has_left = block.has_left.load();  // before `completed`, which is final then
  report.completed = block.completed.load();
  report.is_inside = block.is_inside.load();
  report.record = host_.control_block().record_of(member);
  report.message_kind = static_cast<BlockedMessage::Kind>(block.message.kind.load());
  report.message_since_ns = now_ns() - monotonic_ns(block.message.since_ticks.load());
  report.message_count = block.message.count.load();
  report.message_peer = block.message.peer.load();
  report.message_tag = block.message.tag.load();
  report.message_dtype = static_cast<DType>(block.message.dtype.load());
  report.has_open_sends = block.open_sends.load() > 0;
  if (with_process_state) report.process_state = process_state(static_cast<pid_t>(report.process));
  return report;
}

std::vector<RankReport> Membership::local_reports() const {
  std::vector<RankReport> out;
  for (int member = 0; member < host_.size(); ++member) out.push_back(local_report(member, true));
  return out;
}

std::optional<RankReport> Membership::last_report(int rank, std::int64_t since_ns) const {
  const MutexLock lock(mutex_);
  const LastReport& entry = last_reports_[rank];
  if (entry.at_ns == 0 || entry.at_ns < since_ns) return std::nullopt;
  return entry.report;
}

void Membership::record(const RankReport& report) {
  if (report.rank < 0 || report.rank >= size()) return;
  const MutexLock lock(mutex_);
  last_reports_[report.rank] = {report, now_ns()};
}

std::vector<int> Membership::ranks_to_ask(std::int64_t reply_timeout_ns) {
  const MutexLock lock(mutex_);
  std::vector<int> out;
  const std::int64_t now = now_ns();
  for (std::size_t h = 0; h < layout_.hosts.size(); ++h) {
    const std::vector<int>& members = layout_.hosts[h].ranks;
    PendingQuery& query = pending_queries_[h];
    if (is_local(members[0]) || now - query.at_ns < reply_timeout_ns) continue;
    const bool has_answered = last_reports_[members[0]].at_ns >= query.at_ns;
    if (query.at_ns != 0 && !has_answered) ++query.next;
    query.at_ns = now;
    out.push_back(members[query.next % members.size()]);
  }
  return out;
}

}  // namespace tutti::comm
