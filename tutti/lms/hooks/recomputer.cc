#include "tutti/lms/hooks/recomputer.h"

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "tutti/core/log.h"
#include "tutti/lms/hooks/operator_call.h"

namespace tutti::lms {

Recomputer::Recomputer(Pager& pager) : pager_(pager) {
  pager.set_restorer([this](BlockRef ref) { restore(ref); });
}

bool Recomputer::drop(BlockRef ref, std::shared_ptr<const OperatorCall> call) {
  const std::scoped_lock running(running_);
  {
    const MutexLock lock(mutex_);
    calls_[ref.block].swap(call);  // the former call is destroyed without the lock
  }
  if (pager_.drop(ref)) return true;
  take(ref);
  return false;
}

std::shared_ptr<const OperatorCall> Recomputer::take(BlockRef ref) {
  const MutexLock lock(mutex_);
  const auto found = calls_.find(ref.block);
  if (found == calls_.end()) return nullptr;
  std::shared_ptr<const OperatorCall> call = std::move(found->second);
  calls_.erase(found);
  return call;
}

void Recomputer::restore(BlockRef ref) {
  const std::scoped_lock running(running_);
  if (!pager_.is_dropped(ref)) return;
  std::shared_ptr<const OperatorCall> call;
  {
    const MutexLock lock(mutex_);
    if (const auto found = calls_.find(ref.block); found != calls_.end()) call = found->second;
  }
  if (!call) throw MemoryError("DDL-5-73", "A dropped block has no operator to recompute it.");
  const at::Tensor result = call->run(pager_);
  pager_.restore(ref, pager_.find(result.storage().data()));
  take(ref);
}

void Recomputer::restore_readers_of(std::span<const BlockRef> refs) {
  std::vector<BlockRef> readers;
  {
    const MutexLock lock(mutex_);
    for (const auto& [block, call] : calls_)
      for (const BlockRef& ref : refs)
        if (call->reads(ref)) readers.push_back(pager_.current(block));
  }
  for (const BlockRef& reader : readers) restore(reader);
}

void Recomputer::forget(BlockRef ref) {
  take(ref);  // destroyed without the lock: it may free other blocks
}

bool Recomputer::reproduces(const OperatorCall& call, BlockRef ref) {
  pager_.pin({&ref, 1});
  bool is_equal = false;
  try {
    const at::Tensor result = call.run(pager_);
    const BlockRef block = pager_.find(result.storage().data());
    is_equal = block && pager_.bytes_of(block) == pager_.bytes_of(ref) &&
               std::memcmp(result.storage().data(), pager_.address_of(ref),
                           result.storage().nbytes()) == 0;
  } catch (const std::exception& error) {
    log::debug("A block cannot be recomputed: {}", error.what());
  }
  pager_.unpin({&ref, 1});
  return is_equal;
}

}  // namespace tutti::lms
