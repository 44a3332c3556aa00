#include "tutti/comm/transport/shm/host_group.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "tutti/comm/kernels/kernels.h"
#include "tutti/comm/observe/flight_record.h"
#include "tutti/core/clock.h"

namespace tutti::comm {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kBesideFlag = kLine - offsetof(EagerSlot, payload);

}  // namespace

HostGroup::HostGroup(std::vector<int> ranks, int index, HostControlBlock board, const Arena& arena,
                     std::vector<std::unique_ptr<PeerArena>> peers, WaitPolicy policy,
                     StallHandler& stall_handler)
    : ranks_(std::move(ranks)),
      index_(index),
      board_(std::move(board)),
      arena_(arena),
      peers_(std::move(peers)),
      policy_(policy),
      backoff_(policy.long_yield_ns, policy.is_crowded
                                         ? std::bind_front(&HostGroup::is_excused, this)
                                         : SpinBackoff::Excuse()),
      stall_handler_(stall_handler),
      sources_(ranks_.size()),
      targets_(ranks_.size()),
      inputs_(ranks_.size()),
      outputs_(ranks_.size()) {
  mine().process.store(static_cast<std::uint32_t>(::getpid()));
  mine().moved_ticks.store(ticks());
}

int HostGroup::index_of(int rank) const {
  const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  return found != ranks_.end() && *found == rank ? static_cast<int>(found - ranks_.begin()) : -1;
}

void HostGroup::enter(const OpRecord& record, std::int64_t at_ticks) {
  board_.write_record(index_, record);
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

// A yield in this time was long because one of ours computed.
bool HostGroup::is_excused(std::int64_t begin_ns, std::int64_t end_ns) const {
  for (int member = 0; member < size(); ++member) {
    if (member != index_ && board_.was_away(member, begin_ns, end_ns)) return true;
  }
  return false;
}

Result HostGroup::mismatch(int member, const OpRecord& record) const {
  return disagreement(ranks_[index_], record, ranks_[member], board_.record_of(member));
}

Result HostGroup::open_windows(const OpRecord& record, const void* input, void* output,
                               void* scratch) {
  MemoryPost& post = mine().post;
  const auto place = [&](const void* data) { return arena_.find(data, 0).value_or(Location{}); };
  mine().plan_fingerprints[++plan_turn_ % 2] = record.fingerprint();
  post.input = place(input);
  post.output = place(output);
  mine().scratch = place(scratch);
  return Result::ok();
}

Result HostGroup::window(int member, plan::Space space, std::byte** address) {
  const RankBlock& theirs = board_.block(member);
  switch (space) {
    case plan::Space::kInput: return resolve(member, theirs.post.input, address);
    case plan::Space::kOutput: return resolve(member, theirs.post.output, address);
    case plan::Space::kScratch: return resolve(member, theirs.scratch, address);
  }
  return Result::ok();
}

Result HostGroup::resolve(int member, Location location, std::byte** address) {
  Result mapped = peers_[member]->resolve(location, address);
  if (mapped) return mapped;
  // A member that failed has taken its memory away; its reason is the reason.
  Result told = board_.failure_of(member);
  return told ? std::move(mapped) : std::move(told);
}

Result HostGroup::check_fingerprint(int member, const OpRecord& record) const {
  if (board_.block(member).plan_fingerprints[plan_turn_ % 2] == record.fingerprint()) {
    return Result::ok();
  }
  return mismatch(member, record);
}

void HostGroup::arrive(int lane, std::uint32_t count) {
  raise_flag(mine().lanes[lane], count);
}

bool HostGroup::has_arrived(int member, int lane, std::uint32_t count) const {
  return has_reached(board_.block(member).lanes[lane], count);
}

void HostGroup::await_arrival(int member, int lane, std::uint32_t count) {
  wait_asleep(board_.block(member).lanes[lane], count, StallHandler::kInterval);
}

void HostGroup::show(const OpRecord& record, const void* data, std::size_t bytes) {
  EagerSlot& mine = slot(index_);
  const auto* from = static_cast<const std::byte*>(data);
  // The flag's line last and at once: peers look at it all the time, and every store to it may have
  // to fetch it back from them.
  if (bytes > kBesideFlag) {
    copy_to_peers(mine.payload + kBesideFlag, from + kBesideFlag, bytes - kBesideFlag);
  }
  if (bytes > 0) std::memcpy(mine.payload, from, std::min(bytes, kBesideFlag));
  mine.fingerprint = record.fingerprint();
  raise_flag(mine.flag, eager_turn_);
}

bool HostGroup::has_shown(int member) const {
  return has_reached(slot(member).flag, eager_turn_);
}

void HostGroup::await_slot(int member) {
  wait_asleep(slot(member).flag, eager_turn_, StallHandler::kInterval);
}

Result HostGroup::shown(int member, const OpRecord& record, const std::byte** data) const {
  const EagerSlot& theirs = slot(member);
  *data = theirs.payload;
  if (theirs.fingerprint == record.fingerprint()) return Result::ok();
  return mismatch(member, record);
}

}  // namespace tutti::comm
