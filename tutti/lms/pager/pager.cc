#include "tutti/lms/pager/pager.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "tutti/core/clock.h"
#include "tutti/core/crc32c.h"
#include "tutti/core/rounded_bytes.h"
#include "tutti/lms/pager/paged_block.h"
#include "tutti/lms/pager/swap_file.h"

namespace tutti::lms {
namespace {

std::int64_t rounded(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

PagerTiers host_tiers(const PagerOptions& options) {
  return {make_host_memory(),
          std::make_unique<SwapFile>(options.directory, options.engine, options.faults)};
}

std::string read_error_text(int error) {
  if (error == io::FileQueue::kEndOfFile) return "the file is too short";
  return error == EBADMSG ? "its content has changed" : std::strerror(error);
}

}  // namespace

Pager::Pager(PagerOptions options) : Pager(options, host_tiers(options)) {}

Pager::Pager(PagerOptions options, PagerTiers tiers)
    : options_(std::move(options)),
      memory_(std::move(tiers.memory)),
      process_(::getpid()),
      transfers_(*memory_, std::move(tiers.store), statistics_, options_.verifies),
      budget_(options_.budget),
      ranges_(0) {
  const Reservation space =
      memory_->reserve(options_.address_space, std::min(options_.address_space, budget_));
  base_ = space.address;
  reserved_ = space.bytes;
  ranges_.extend(reserved_);
}

Pager::~Pager() {
  MutexLock lock(mutex_);
  while (!transfers_.in_flight().empty()) wait_for(lock, *transfers_.in_flight().front());
  memory_->synchronize();
}

std::int64_t Pager::alignment_of(std::int64_t bytes) const {
  return bytes >= kHugePage ? kHugePage : memory_->granularity();
}

bool Pager::is_forked() const {
  return ::getpid() != process_;
}

bool Pager::is_current(BlockRef ref) const {
  return ref.block && ref.block->serial == ref.serial && ref.block->is_used;
}

std::byte* Pager::allocate(std::int64_t bytes, bool is_pinned, BlockRef* ref) {
  if (is_forked()) return nullptr;
  bytes = rounded(std::max<std::int64_t>(bytes, 1), memory_->granularity());
  MutexLock lock(mutex_);
  reap();
  PagedBlock* block = nullptr;
  if (const auto found = cached_.find(bytes); found != cached_.end()) {
    block = found->second;
    cached_.erase(found);
    statistics_.cached -= bytes;
  } else {
    make_room(lock, bytes);
    const std::int64_t reserved = rounded(bytes, alignment_of(bytes));
    std::byte* const address = take_addresses(reserved, alignment_of(bytes));
    memory_->supply(address, bytes);
    block = new_block(address, bytes);
    block->reserved_bytes = reserved;
    statistics_.add_resident(bytes);
  }
  block->renew(++clock_);
  if (is_pinned) block->pins = 1, statistics_.pinned += bytes;
  blocks_[block->address] = block;
  ++statistics_.blocks;
  if (ref) *ref = {block, block->serial};
  return block->address;
}

bool Pager::free(void* address) {
  if (!owns(address)) return false;
  if (is_forked()) return true;  // the parent's memory
  const MutexLock lock(mutex_);
  const std::vector<PagedBlock*> blocks = allocation_at(address);
  for (PagedBlock* block : blocks) {
    if (block->pins > 0) statistics_.pinned -= block->bytes;
    block->pins = 0;
    block->is_used = false;
    ++block->serial;
    --statistics_.blocks;
    if (block->transfer == 0) release(*block);  // else when the transfer is complete
  }
  changed_.notify_all();
  return !blocks.empty();
}

// The block must not be in use, and no transfer of it may be in flight.
void Pager::release(PagedBlock& block) {
  blocks_.erase(block.address);
  transfers_.forget(block);
  if (block.state == PagedBlock::State::kResident && !block.is_segment) {
    cached_.emplace(block.bytes, &block);
    statistics_.cached += block.bytes;
    return;
  }
  if (block.state == PagedBlock::State::kResident) {
    memory_->synchronize();
    memory_->discard(block.address, block.bytes);
    statistics_.add_resident(-block.bytes);
  } else if (block.state != PagedBlock::State::kEmpty) {
    statistics_.out -= block.bytes;
  }
  ranges_.give_back(block.address - base_, block.reserved_bytes);
  unused_.push_back(&block);
}

bool Pager::drop_cached() {
  if (cached_.empty()) return false;
  const auto largest = std::prev(cached_.end());
  PagedBlock& block = *largest->second;
  cached_.erase(largest);
  memory_->synchronize();
  memory_->discard(block.address, block.bytes);
  statistics_.cached -= block.bytes;
  statistics_.add_resident(-block.bytes);
  ranges_.give_back(block.address - base_, block.reserved_bytes);
  unused_.push_back(&block);
  return true;
}

BlockRef Pager::find(const void* address) {
  if (!owns(address)) return {};
  const MutexLock lock(mutex_);
  const auto found = blocks_.find(static_cast<const std::byte*>(address));
  if (found == blocks_.end() || !found->second->is_used) return {};
  return {found->second, found->second->serial};
}

std::int64_t Pager::bytes_of(BlockRef ref) {
  const MutexLock lock(mutex_);
  return is_current(ref) ? ref.block->bytes : 0;
}

std::byte* Pager::address_of(BlockRef ref) {
  const MutexLock lock(mutex_);
  return is_current(ref) ? ref.block->address : nullptr;
}

BlockRef Pager::current(PagedBlock* block) {
  const MutexLock lock(mutex_);
  return block->is_used ? BlockRef{block, block->serial} : BlockRef{};
}

// Frees memory until `bytes` more fit: first that of freed blocks, then by page-outs. Enough page-outs are started
// before the first one is waited for, so the disk works on several.
void Pager::make_room(MutexLock& lock, std::int64_t bytes) {
  const std::int64_t failures = transfers_.failed_writes();
  const auto excess = [&]()
                          TUTTI_REQUIRES(mutex_) { return statistics_.resident + bytes - budget_; };
  while (excess() > 0) {
    if (drop_cached()) continue;
    const std::int64_t leaving = transfers_.leaving_bytes();
    if (excess() > leaving && evict_one()) continue;
    if (excess() > leaving && bytes > budget_) throw_shortage(bytes);
    if (!wait_for_transfer(lock) && !wait_for_pins(lock)) throw_shortage(bytes);
    if (transfers_.failed_writes() != failures)
      throw IoError("DDL-5-72",
                    fmt::format("Cannot write to {}: {}. The data is still in memory. Free space, "
                                "name another directory with TUTTI_LMS_DIR, or raise the budget.",
                                transfers_.store_name(), std::strerror(transfers_.write_error())));
  }
}

// Starts the page-out of the block that is needed last.
bool Pager::evict_one() {
  PagedBlock* victim = nullptr;
  for (const auto& [address, block] : blocks_)
    if (block->can_leave() && (!victim || block->leaves_before(*victim))) victim = block;
  if (!victim) return false;
  transfers_.start_write(*victim);
  ++statistics_.evictions;
  return true;
}

// Returns false if no transfer is in flight.
bool Pager::wait_for_transfer(MutexLock& lock) {
  PagedBlock* const block = transfers_.next_to_leave();
  if (!block) return false;
  const Stopwatch watch;
  wait_for(lock, *block);
  statistics_.write_wait += watch.seconds();
  return true;
}

// Waits until another thread frees or unpins a block. Returns false if no other thread has pins, or after
// `pin_timeout`.
bool Pager::wait_for_pins(MutexLock& lock) {
  if (options_.pin_timeout <= 0 || scopes_ <= 1 || statistics_.pinned == 0) return false;
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            std::chrono::duration<double>(options_.pin_timeout));
  return changed_.wait_until(lock, deadline);
}

void Pager::throw_shortage(std::int64_t bytes) {
  std::int64_t fixed = 0;
  for (const auto& [address, block] : blocks_)
    if (block->is_used && !block->is_evictable && block->pins == 0) fixed += block->bytes;
  const std::int64_t needed = statistics_.pinned + fixed + bytes;
  throw BudgetError(
      fmt::format("The memory budget of {} is too small: {} are requested while {} are in use by "
                  "running operators and {} must stay resident. At least {} are needed.",
                  rounded_bytes(budget_), rounded_bytes(bytes), rounded_bytes(statistics_.pinned),
                  rounded_bytes(fixed), rounded_up_bytes(needed)),
      bytes, statistics_.pinned + fixed);
}

void Pager::wait_for(MutexLock& lock, PagedBlock& block) {
  const std::int64_t transfer = block.transfer;
  if (transfer == 0) return;
  BackingStore& store = transfers_.store();
  lock.unlock();
  store.wait(transfer);
  lock.lock();
  if (block.transfer == transfer) complete(block);
}

void Pager::reap() {
  const std::vector<PagedBlock*> blocks = transfers_.in_flight();
  for (PagedBlock* block : blocks)
    if (transfers_.is_done(*block)) complete(*block);
}

void Pager::complete(PagedBlock& block) {
  transfers_.complete(block);
  if (!block.is_used) release(block);
  changed_.notify_all();
}

void Pager::start_read(MutexLock& lock, PagedBlock& block) {
  const std::uint64_t serial = block.serial;
  const auto is_out = [&] {
    return block.serial == serial && block.state == PagedBlock::State::kOut;
  };
  block.read_error = 0;
  try {
    make_room(lock, block.reading_bytes());
    if (is_out()) transfers_.start_read(block);
  } catch (const BudgetError&) {
    if (!is_out() || !block.encoding.exists()) throw;
    make_room(lock, block.bytes);
    if (is_out()) transfers_.read_in_pieces(block);
  }
}

// Returns when the block is resident, or no longer in use.
void Pager::make_resident(MutexLock& lock, PagedBlock& block, std::uint64_t serial) {
  const auto is_gone = [&] { return block.serial != serial; };
  while (!is_gone() && block.state != PagedBlock::State::kResident) {
    if (block.state == PagedBlock::State::kWriting) return transfers_.cancel_write(block);
    if (block.state == PagedBlock::State::kDropped) return;
    if (block.state == PagedBlock::State::kEmpty) {
      supply(lock, block);
      continue;
    }
    if (block.state == PagedBlock::State::kOut) {
      start_read(lock, block);
      if (is_gone() || block.read_error == 0) continue;
    }
    wait_for(lock, block);
    if (!is_gone() && block.read_error != 0)
      throw IoError("DDL-5-74", fmt::format("Cannot read a block of {} back from {}: {}.",
                                            rounded_bytes(block.bytes), transfers_.store_name(),
                                            read_error_text(block.read_error)));
  }
}

void Pager::restore_dropped(MutexLock& lock, std::span<const BlockRef> refs) {
  for (const BlockRef& ref : refs) {
    if (!is_current(ref) || ref.block->state != PagedBlock::State::kDropped) continue;
    lock.unlock();
    try {
      restorer_(ref);
    } catch (...) {
      lock.lock();
      throw;
    }
    lock.lock();
  }
}

void Pager::pin(std::span<const BlockRef> refs) {
  MutexLock lock(mutex_);
  bool waits = false;
  for (const BlockRef& ref : refs) {
    if (!is_current(ref)) continue;
    PagedBlock& block = *ref.block;
    if (block.pins++ == 0) statistics_.pinned += block.bytes;
    block.last_use = ++clock_;
    transfers_.cancel_write(block);
    if (block.state == PagedBlock::State::kOut) ++statistics_.unplanned_reads;
    if (block.state == PagedBlock::State::kReading) {
      if (transfers_.is_done(block))
        complete(block);
      else
        ++statistics_.late_reads;
    }
    waits |= block.state != PagedBlock::State::kResident;
  }
  if (!waits) return;
  const Stopwatch watch;
  const double write_wait = statistics_.write_wait;
  try {
    restore_dropped(lock, refs);
    for (const BlockRef& ref : refs)  // all reads are in flight before the first one is waited for
      if (is_current(ref) && ref.block->state == PagedBlock::State::kOut)
        start_read(lock, *ref.block);
    for (const BlockRef& ref : refs)
      if (is_current(ref)) make_resident(lock, *ref.block, ref.serial);
  } catch (...) {
    lock.unlock();
    unpin(refs);
    throw;
  }
  statistics_.read_wait += watch.seconds() - (statistics_.write_wait - write_wait);
}

void Pager::unpin(std::span<const BlockRef> refs) {
  const MutexLock lock(mutex_);
  for (const BlockRef& ref : refs) {
    if (!is_current(ref) || ref.block->pins == 0) continue;
    ref.block->last_use = ++clock_;
    if (--ref.block->pins == 0) statistics_.pinned -= ref.block->bytes;
  }
  changed_.notify_all();
}

void Pager::scope_end() {
  --scopes_;
  changed_.notify_all();
}

bool Pager::page_out(BlockRef ref, const Encoding& encoding) {
  const MutexLock lock(mutex_);
  if (!is_current(ref) || !ref.block->can_leave()) return false;
  const auto room = [&]() TUTTI_REQUIRES(mutex_) { return budget_ - statistics_.resident; };
  while (encoding.codec != Codec::kNone && room() < ref.block->bytes && drop_cached()) continue;
  transfers_.start_write(*ref.block, encoding, room());
  return true;
}

bool Pager::drop(BlockRef ref) {
  const MutexLock lock(mutex_);
  if (!is_current(ref) || !ref.block->can_leave()) return false;
  PagedBlock& block = *ref.block;
  if (options_.verifies && memory_->is_host())
    block.checksum = crc32c(block.address, static_cast<std::size_t>(block.bytes));
  memory_->synchronize();
  memory_->discard(block.address, block.bytes);
  block.state = PagedBlock::State::kDropped;
  statistics_.out += block.bytes;
  ++statistics_.drops;
  statistics_.add_resident(-block.bytes);
  changed_.notify_all();
  return true;
}

bool Pager::restore(BlockRef ref, BlockRef source) {
  const MutexLock lock(mutex_);
  if (!is_current(ref) || ref.block->state != PagedBlock::State::kDropped) return false;
  PagedBlock &block = *ref.block, &from = *source.block;
  const bool is_usable = is_current(source) && from.bytes == block.bytes && from.transfer == 0 &&
                         from.state == PagedBlock::State::kResident;
  const auto size = static_cast<std::size_t>(block.bytes);
  const bool is_equal = is_usable && (!options_.verifies || !memory_->is_host() ||
                                      crc32c(from.address, size) == block.checksum);
  const int error = is_equal ? memory_->move(from.address, block.bytes, block.address) : EINVAL;
  if (error != 0)
    throw MemoryError(
        "DDL-5-73",
        fmt::format("Cannot restore a recomputed block of {}: {}.", rounded_bytes(block.bytes),
                    is_equal ? std::strerror(error) : "the recomputed content differs"));
  from.state = PagedBlock::State::kDropped;  // its memory counts for the other block
  block.state = PagedBlock::State::kResident;
  block.last_use = ++clock_;
  changed_.notify_all();
  return true;
}

bool Pager::is_dropped(BlockRef ref) {
  const MutexLock lock(mutex_);
  return is_current(ref) && ref.block->state == PagedBlock::State::kDropped;
}

void Pager::finish_page_out(BlockRef ref) {
  MutexLock lock(mutex_);
  if (!is_current(ref) || ref.block->state != PagedBlock::State::kWriting) return;
  if (ref.block->is_cancelled) return;
  const Stopwatch watch;
  wait_for(lock, *ref.block);
  statistics_.write_wait += watch.seconds();
}

bool Pager::prefetch(BlockRef ref) {
  const MutexLock lock(mutex_);
  if (!is_current(ref) || ref.block->state != PagedBlock::State::kOut) return true;
  while (statistics_.resident + ref.block->reading_bytes() > budget_)
    if (!drop_cached()) return false;
  transfers_.start_read(*ref.block);
  return true;
}

void Pager::finish_read(BlockRef ref) {
  MutexLock lock(mutex_);
  if (!is_current(ref) || ref.block->state != PagedBlock::State::kReading) return;
  if (!transfers_.is_done(*ref.block)) ++statistics_.late_reads;
  const Stopwatch watch;
  wait_for(lock, *ref.block);
  statistics_.read_wait += watch.seconds();
}

void Pager::page_in_all() {
  std::vector<BlockRef> refs;
  {
    const MutexLock lock(mutex_);
    for (const auto& [address, block] : blocks_)
      if (block->is_used) refs.push_back({block, block->serial});
  }
  pin(refs);
  unpin(refs);
}

void Pager::set_next_use(BlockRef ref, std::int64_t time) {
  const MutexLock lock(mutex_);
  if (is_current(ref)) ref.block->next_use = time;
}

void Pager::set_evictable(BlockRef ref, bool is_evictable) {
  const MutexLock lock(mutex_);
  if (is_current(ref)) ref.block->is_evictable = is_evictable;
}

void Pager::set_budget(std::int64_t bytes) {
  MutexLock lock(mutex_);
  const std::int64_t before = budget_;
  budget_ = bytes;
  try {
    make_room(lock, 0);
  } catch (...) {
    budget_ = before;
    throw;
  }
}

bool Pager::handle_fault(void* address) {
  if (!owns(address)) return false;
  if (is_forked())
    throw MemoryError("DDL-5-76",
                      "A forked process uses a tensor of its parent that is not resident. Start "
                      "workers before large model support, or with spawn or forkserver.");
  MutexLock lock(mutex_);
  auto found = blocks_.upper_bound(static_cast<std::byte*>(address));
  if (found == blocks_.begin()) return false;
  PagedBlock& block = *(--found)->second;
  if (!block.is_used || static_cast<std::byte*>(address) >= block.address + block.bytes)
    return false;
  ++statistics_.faults;
  if (block.state == PagedBlock::State::kDropped) {
    const BlockRef ref{&block, block.serial};
    restore_dropped(lock, {&ref, 1});
    return true;
  }
  if (block.state == PagedBlock::State::kOut) ++statistics_.unplanned_reads;
  block.last_use = ++clock_;
  const Stopwatch watch;
  make_resident(lock, block, block.serial);
  statistics_.read_wait += watch.seconds();
  return true;
}

}  // namespace tutti::lms
