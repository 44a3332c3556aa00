// Transfers of blocks between memory and the backing store. Internal to the pager, which guards them with its mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tutti/lms/pager/backing_store.h"
#include "tutti/lms/pager/block_memory.h"
#include "tutti/lms/pager/paged_block.h"
#include "tutti/lms/pager/statistics.h"

namespace tutti::lms {

// Changes the states of blocks and the counters. Never waits: the pager waits for `store()` without its mutex, and then
// calls complete().
class Transfers {
 public:
  // `verifies`: compare the CRC-32C of blocks that are read back, in host memory.
  Transfers(BlockMemory& memory, std::unique_ptr<BackingStore> store, PagerStatistics& statistics,
            bool verifies)
      : memory_(memory),
        store_(std::move(store)),
        statistics_(statistics),
        verifies_(verifies && memory.is_host()) {}

  // resident -> writing. The content is encoded first if that is worthwhile and takes at most `room` bytes of memory,
  // which are occupied until the write is complete. Throws as BackingStore::allocate.
  void start_write(PagedBlock& block, const Encoding& encoding = {}, std::int64_t room = 0);
  // writing -> resident, when the write is complete. No effect in other states.
  void cancel_write(PagedBlock& block);
  // out -> reading. The budget has space for PagedBlock::reading_bytes().
  void start_read(PagedBlock& block);
  // out -> resident, or out on failure. For encoded blocks. Blocks the caller; needs only the memory of the decoded
  // block.
  void read_in_pieces(PagedBlock& block);
  // The transfer of the block has ended: writing -> out or resident, reading -> resident or out.
  void complete(PagedBlock& block);
  // Frees the part of the store that holds the block, if any.
  void forget(PagedBlock& block) { store_->free(block.extent); }

  bool is_done(const PagedBlock& block) { return store_->is_done(block.transfer); }
  BackingStore& store() { return *store_; }
  std::string store_name() const { return store_->name(); }
  // Blocks in state writing or reading, oldest first.
  const std::vector<PagedBlock*>& in_flight() const { return in_flight_; }
  // Bytes that become free when the transfers in flight are complete.
  std::int64_t leaving_bytes() const;
  // The oldest transfer that frees memory, else the oldest; nullptr: none.
  PagedBlock* next_to_leave() const;
  // Writes that have failed so far, and errno of the last one.
  std::int64_t failed_writes() const { return failed_writes_; }
  int write_error() const { return write_error_; }

 private:
  void complete_write(PagedBlock& block, int error);
  void complete_read(PagedBlock& block, int error);
  void begin_read(PagedBlock& block);
  // Ends a read: the content has arrived in `temporary`, unless `error` is set.
  void finish_read(PagedBlock& block, int error);
  void add_staging(PagedBlock& block, std::byte* memory, std::int64_t bytes);
  void free_staging(PagedBlock& block);
  bool encode(PagedBlock& block, const Encoding& encoding, std::int64_t room);

  BlockMemory& memory_;
  const std::unique_ptr<BackingStore> store_;
  PagerStatistics& statistics_;
  const bool verifies_;
  std::vector<PagedBlock*> in_flight_;
  std::int64_t next_transfer_ = 1;
  std::int64_t failed_writes_ = 0;
  int write_error_ = 0;
};

}  // namespace tutti::lms
