#include "tutti/comm/transport/shm/host_group.h"

#include <unistd.h>

#include <algorithm>
#include <functional>

#include "tutti/comm/observe/flight_record.h"
#include "tutti/core/clock.h"

namespace tutti::comm {

HostGroup::HostGroup(std::vector<int> ranks, int index, HostControlBlock control_block,
                     const Arena& arena, std::vector<std::unique_ptr<PeerArena>> peers,
                     WaitPolicy policy, StallHandler& stall_handler)
    : ranks_(std::move(ranks)),
      index_(index),
      control_block_(std::move(control_block)),
      arena_(arena),
      peers_(std::move(peers)),
      policy_(policy),
      backoff_(policy.long_yield_ns, policy.is_crowded
                                         ? std::bind_front(&HostGroup::is_explained, this)
                                         : SpinBackoff::IsExplained()),
      stall_handler_(stall_handler) {
  mine().process.store(static_cast<std::uint32_t>(::getpid()));
  mine().moved_ticks.store(ticks());
}

int HostGroup::index_of(int rank) const {
  const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  return found != ranks_.end() && *found == rank ? static_cast<int>(found - ranks_.begin()) : -1;
}

void HostGroup::enter(const OpRecord& record, std::int64_t at_ticks) {
  control_block_.write_record(index_, record);
  mine().away_ticks.store(at_ticks - mine().moved_ticks.load(std::memory_order_relaxed),
                          std::memory_order_relaxed);
  mine().moved_ticks.store(at_ticks, std::memory_order_relaxed);
  mine().is_inside.store(1, std::memory_order_relaxed);
}

void HostGroup::leave(std::uint64_t sequence, std::int64_t at_ticks) {
  mine().completed.store(sequence, std::memory_order_relaxed);
  mine().moved_ticks.store(at_ticks, std::memory_order_relaxed);
  mine().is_inside.store(0, std::memory_order_relaxed);
}

Result HostGroup::wait_long(int member, Flag& flag, std::uint32_t wanted) {
  const std::int64_t start = now_ns();
  while (!wait_asleep(flag, wanted, StallHandler::kInterval)) {
    Result verdict = stall_handler_.on_stall(ranks_[member], now_ns() - start);
    if (!verdict) return verdict;
  }
  return Result::ok();
}

// True if a long yield in this time is explained by a rank of this job that computed.
bool HostGroup::is_explained(std::int64_t begin_ns, std::int64_t end_ns) const {
  for (int member = 0; member < size(); ++member) {
    if (member != index_ && control_block_.was_away(member, begin_ns, end_ns)) return true;
  }
  return false;
}

Result HostGroup::mismatch(int member, const OpRecord& record) const {
  return disagreement(ranks_[index_], record, ranks_[member], control_block_.record_of(member));
}

Result HostGroup::resolve(int member, Location location, std::byte** address) const {
  Result mapped = peers_[member]->resolve(location, address);
  if (mapped) return mapped;
  // A member that failed has unmapped its memory, so its failure takes precedence.
  Result status = control_block_.failure_of(member);
  return status ? std::move(mapped) : std::move(status);
}

}  // namespace tutti::comm
