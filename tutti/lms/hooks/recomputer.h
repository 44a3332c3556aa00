// Blocks that are dropped instead of written, and recomputed before their next use.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "tutti/core/mutex.h"
#include "tutti/lms/pager/pager.h"

namespace tutti::lms {

class OperatorCall;

// Thread-safe. A pin or a fault of a dropped block recomputes it, planned or not.
class Recomputer {
 public:
  // Registers itself as the restorer of the pager, which must outlive this object.
  explicit Recomputer(Pager& pager);
  Recomputer(const Recomputer&) = delete;
  Recomputer& operator=(const Recomputer&) = delete;

  // Drops a block that `call` can restore. Returns false if the pager cannot drop it now.
  bool drop(BlockRef ref, std::shared_ptr<const OperatorCall> call);
  // Restores the block if it is dropped. Throws as the operators of the call and as Pager::restore.
  void restore(BlockRef ref);
  // Restores all blocks whose calls read one of these, before an operator modifies them.
  void restore_readers_of(std::span<const BlockRef> refs);
  // Must be called when the block is freed.
  void forget(BlockRef ref);
  // Returns true if the result of a call equals the content of a block bit for bit; false if the call fails. Makes the
  // block resident.
  bool reproduces(const OperatorCall& call, BlockRef ref);

 private:
  std::shared_ptr<const OperatorCall> take(BlockRef ref);

  Pager& pager_;
  std::recursive_mutex running_;  // one restoration at a time; a call may need another one
  Mutex mutex_;
  std::map<PagedBlock*, std::shared_ptr<const OperatorCall>> calls_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::lms
