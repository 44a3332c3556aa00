#include "tutti/comm/transport/shm/host_slots.h"

#include <algorithm>
#include <cstring>

#include "tutti/comm/kernels/kernels.h"

namespace tutti::comm {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kBesideFlag = kLine - offsetof(EagerSlot, payload);

}  // namespace

void HostSlots::publish(const OpRecord& record, const void* data, std::size_t bytes) {
  EagerSlot& mine = slot(host_.index());
  const auto* from = static_cast<const std::byte*>(data);
  // The cache line of the flag is written last, with consecutive stores: peers poll it, and every store may have to
  // fetch it back from them.
  if (bytes > kBesideFlag) {
    copy_to_peers(mine.payload + kBesideFlag, from + kBesideFlag, bytes - kBesideFlag);
  }
  if (bytes > 0) std::memcpy(mine.payload, from, std::min(bytes, kBesideFlag));
  mine.fingerprint = fingerprint_ = record.fingerprint();
  raise_flag(mine.flag, turn_);
}

}  // namespace tutti::comm
