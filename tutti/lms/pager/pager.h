// Address-stable paging of memory blocks under a hard budget.
//
// Every block has its own page-aligned range of reserved address space. Its address never changes, so views and raw
// pointers stay valid while its content moves between memory and the swap file:
//
//   resident --page_out--> writing --written--> out --pin, prefetch--> reading --read--> resident
//
// - empty: a segment before its first use, without memory and content. The first pin or access makes it resident.
// - writing: the memory can be read. A pin, or a store by code without a pin, cancels the page-out.
// - out: the range has no access rights and no memory. An access without a pin raises SIGSEGV (fault_handler.h).
// - dropped: like out, but the content is not stored. The restorer recomputes it before an access (drop, restore).
// - reading: the content arrives in a temporary mapping, which then replaces the range in one system call. Threads
//   without a pin therefore never see a partly read block.
//
// Freed blocks keep their memory for allocations of the same size, until the memory is needed elsewhere. The budget
// counts all memory that the pager holds: resident, writing and reading blocks and freed ones. It is never exceeded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/core/mutex.h"
#include "tutti/io/file_queue.h"
#include "tutti/lms/pager/backing_store.h"
#include "tutti/lms/pager/block_memory.h"
#include "tutti/lms/pager/ranges.h"
#include "tutti/lms/pager/statistics.h"
#include "tutti/lms/pager/transfers.h"

namespace tutti::lms {

struct PagerOptions {
  std::int64_t budget = 0;               // bytes
  std::filesystem::path directory = {};  // of the swap file; empty: default_swap_directory()
  std::int64_t address_space = std::int64_t{16}
                               << 40;  // bytes to reserve; less if limits of the process require it
  double pin_timeout = 5;              // seconds to wait for pins of other threads
  bool verifies = false;               // compare the CRC-32C of blocks that are read back
  io::FileQueue::Engine engine = io::FileQueue::Engine::kAuto;
  io::FaultInjector faults = {};  // tests only
};

// Memory and storage of blocks: for those that are resident, and for those that are swapped out. Default: RAM and a
// swap file.
struct PagerTiers {
  std::unique_ptr<BlockMemory> memory;
  std::unique_ptr<BackingStore> store;
};

// The budget cannot hold a request together with everything that must be resident at the same time.
struct BudgetError : MemoryError {
  BudgetError(const std::string& message, std::int64_t requested_bytes, std::int64_t pinned_bytes)
      : MemoryError("DDL-5-70", message), requested(requested_bytes), pinned(pinned_bytes) {}
  std::int64_t requested, pinned;  // bytes
};

struct PagedBlock;

// Reference to one allocation of a block. Invalid once the block is freed, even if its address is allocated again.
struct BlockRef {
  PagedBlock* block = nullptr;
  std::uint64_t serial = 0;
  explicit operator bool() const { return block != nullptr; }
  bool operator==(const BlockRef&) const = default;
};

// All functions are thread-safe. Those that take a BlockRef ignore an invalid one.
class Pager {
 public:
  static constexpr std::int64_t kPageBytes = 4096;  // granularity of host memory
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // Reserves address space and creates the swap file. Throws IoError (DDL-5-71) or MemoryError (DDL-5-73).
  explicit Pager(PagerOptions options);
  // Reserves address space of `tiers`. Throws MemoryError (DDL-5-73 or DDL-5-79).
  Pager(PagerOptions options, PagerTiers tiers);
  // Unmaps all blocks, in use or not.
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  // Allocates a resident block, pinned once if `is_pinned`. Evicts other blocks if necessary. Throws BudgetError if the
  // pinned and unevictable blocks leave too little of the budget, IoError (DDL-5-72) if a page-out fails. Returns
  // nullptr in a forked child. `ref` receives the reference of the block.
  std::byte* allocate(std::int64_t bytes, bool is_pinned = false, BlockRef* ref = nullptr);
  // Allocates a range of several blocks (segments) of `segment_bytes`, a multiple of the granularity; the last may be
  // smaller. Segments have no memory before their first pin or access, and move independently. Throws MemoryError
  // (DDL-5-73). Returns nullptr in a forked child.
  std::byte* allocate_segments(std::int64_t bytes, std::int64_t segment_bytes);
  // Frees the allocation at `address`, pinned or not. Returns false if no allocation in use starts there.
  bool free(void* address);
  // The blocks of the allocation at `address`: one, or its segments; none if no allocation in use starts there.
  std::vector<BlockRef> blocks_at(const void* address);
  // Appends the blocks in use that overlap a range, in ascending order.
  void find_range(const void* address, std::int64_t bytes, std::vector<BlockRef>& refs);
  // True for all addresses in the reserved range. Does not lock.
  bool owns(const void* address) const {
    return static_cast<const std::byte*>(address) - base_ < reserved_ && address >= base_;
  }
  // The block in use that starts at `address`; an invalid reference if there is none.
  BlockRef find(const void* address);
  std::int64_t bytes_of(BlockRef ref);
  std::byte* address_of(BlockRef ref);
  // The present allocation of a block; an invalid reference if it is not in use.
  BlockRef current(PagedBlock* block);

  // Makes all blocks resident until they are unpinned; pins are counted. Throws as `allocate`, and IoError (DDL-5-74)
  // if a block cannot be read back; no block is pinned then.
  void pin(std::span<const BlockRef> refs);
  void unpin(std::span<const BlockRef> refs);

  // Starts to page out a resident, unpinned block. Returns false if it cannot be paged out now. The content is stored
  // in the encoding that `encoding` names if the codec applies and there is memory for the result; `encoding.bytes` is
  // the expected size.
  bool page_out(BlockRef ref, const Encoding& encoding = {});
  // Waits until the memory of a block in state writing is free.
  void finish_page_out(BlockRef ref);
  // Starts to read a block that is out. Returns false if the budget has no space for it now; evicts nothing.
  bool prefetch(BlockRef ref);
  // Waits for a block in state reading. Errors are reported by `pin`.
  void finish_read(BlockRef ref);
  // Makes all blocks resident; throws as `pin`.
  void page_in_all();

  // Discards the content of a resident, unpinned block without writing it. Returns false if it cannot be dropped now. A
  // pin or a fault calls the restorer, on the same thread and without a lock. The restorer must call `restore` for the
  // block, or throw.
  bool drop(BlockRef ref);
  // Moves the memory of `source`, which has the same size and is resident, to a dropped block. `source` has no content
  // afterwards and may only be freed. Returns false if `ref` is not dropped. Throws MemoryError (DDL-5-73).
  bool restore(BlockRef ref, BlockRef source);
  bool is_dropped(BlockRef ref);
  // Must be called before the first drop.
  void set_restorer(std::function<void(BlockRef)> restorer) { restorer_ = std::move(restorer); }

  // Handles completed transfers. Does not block.
  void poll() {
    const MutexLock lock(mutex_);
    reap();
  }

  // Order of eviction: the block with the largest next use first, then the least recently pinned. kNever: not used
  // again. Times are chosen by the caller. Blocks start with next use 0, which means unknown.
  void set_next_use(BlockRef ref, std::int64_t time);
  // A block that is not evictable stays resident once it is resident. Blocks start evictable.
  void set_evictable(BlockRef ref, bool is_evictable);
  // A smaller budget takes effect at once; throws BudgetError if pinned blocks need more.
  void set_budget(std::int64_t bytes);
  std::int64_t budget() const {
    const MutexLock lock(mutex_);
    return budget_;
  }

  // Mark the begin and the end of an operator on the calling thread. A thread that lacks memory waits for the pins of
  // threads between the two.
  void scope_begin() { ++scopes_; }
  void scope_end();

  // Makes the block that contains `address` accessible. Returns false if no block in use contains it. Throws as `pin`.
  bool handle_fault(void* address);

  PagerStatistics statistics() const {
    const MutexLock lock(mutex_);
    return statistics_;
  }
  // Seconds that threads were blocked: write_wait + read_wait.
  double waited() const {
    const MutexLock lock(mutex_);
    return statistics_.write_wait + statistics_.read_wait;
  }
  // Name of the backing store: "the swap file in /var/tmp".
  std::string store_name() const {
    const MutexLock lock(mutex_);
    return transfers_.store_name();
  }

 private:
  bool is_current(BlockRef ref) const TUTTI_REQUIRES(mutex_);
  // Releases the lock while the restorer runs.
  void restore_dropped(MutexLock& lock, std::span<const BlockRef> refs)
      TUTTI_REQUIRES(mutex_) TUTTI_NO_THREAD_SAFETY_ANALYSIS;
  std::byte* take_addresses(std::int64_t bytes, std::int64_t alignment) TUTTI_REQUIRES(mutex_);
  PagedBlock* new_block(std::byte* address, std::int64_t bytes) TUTTI_REQUIRES(mutex_);
  std::vector<PagedBlock*> allocation_at(const void* address) TUTTI_REQUIRES(mutex_);
  // Supplies memory to an empty block.
  void supply(MutexLock& lock, PagedBlock& block) TUTTI_REQUIRES(mutex_);
  void make_room(MutexLock& lock, std::int64_t bytes) TUTTI_REQUIRES(mutex_);
  bool drop_cached() TUTTI_REQUIRES(mutex_);
  bool evict_one() TUTTI_REQUIRES(mutex_);
  bool wait_for_transfer(MutexLock& lock) TUTTI_REQUIRES(mutex_);
  bool wait_for_pins(MutexLock& lock) TUTTI_REQUIRES(mutex_);
  [[noreturn]] void throw_shortage(std::int64_t bytes) TUTTI_REQUIRES(mutex_);
  // Starts the read of a block that is out. Returns without a read if its state changes meanwhile.
  void start_read(MutexLock& lock, PagedBlock& block) TUTTI_REQUIRES(mutex_);
  void make_resident(MutexLock& lock, PagedBlock& block, std::uint64_t serial)
      TUTTI_REQUIRES(mutex_);
  // Releases the lock while it waits. The analysis does not know that `lock` holds mutex_.
  void wait_for(MutexLock& lock, PagedBlock& block)
      TUTTI_REQUIRES(mutex_) TUTTI_NO_THREAD_SAFETY_ANALYSIS;
  void complete(PagedBlock& block) TUTTI_REQUIRES(mutex_);
  void release(PagedBlock& block) TUTTI_REQUIRES(mutex_);
  void reap() TUTTI_REQUIRES(mutex_);
  bool is_forked() const;
  // Address and size of large blocks are multiples of huge pages, those of others of the granularity.
  std::int64_t alignment_of(std::int64_t bytes) const;

  const PagerOptions options_;
  const std::unique_ptr<BlockMemory> memory_;
  std::function<void(BlockRef)> restorer_;
  const int process_;
  std::byte* base_ = nullptr;
  std::int64_t reserved_ = 0;
  std::atomic<int> scopes_ = 0;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  PagerStatistics statistics_ TUTTI_GUARDED_BY(mutex_);
  Transfers transfers_ TUTTI_GUARDED_BY(mutex_);
  std::int64_t budget_ TUTTI_GUARDED_BY(mutex_);
  Ranges ranges_ TUTTI_GUARDED_BY(mutex_);
  std::map<const std::byte*, PagedBlock*> blocks_
      TUTTI_GUARDED_BY(mutex_);  // by address, in use or doomed
  std::vector<std::unique_ptr<PagedBlock>> all_ TUTTI_GUARDED_BY(mutex_);
  std::vector<PagedBlock*> unused_ TUTTI_GUARDED_BY(mutex_);  // records without a range
  std::multimap<std::int64_t, PagedBlock*> cached_
      TUTTI_GUARDED_BY(mutex_);  // freed, with memory; by size
  std::int64_t clock_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::lms
