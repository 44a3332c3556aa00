#include "tutti/lms/hooks/cpu_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <array>
#include <atomic>

#include "tutti/lms/hooks/compat.h"

namespace tutti::lms {
namespace {

// Never destroyed: tensors may be freed by destructors of other static objects. Lock-free, because a forked child must
// not wait for a lock that a thread of its parent held.
class ChainAllocator final : public c10::Allocator {
 public:
  static ChainAllocator& instance() {
    static auto* const allocator = new ChainAllocator;
    return *allocator;
  }

  c10::DataPtr allocate(std::size_t bytes) TUTTI_ALLOCATE_CONST override {
    void* address = nullptr;
    for (const auto& each : sources_) {
      MemorySource* const source = each.load(std::memory_order_acquire);
      if (source && (address = source->allocate(bytes))) break;
    }
    if (!address) address = before_->raw_allocate(bytes);
    // oneDNN requires that data and context are the same pointer.
    return {address, address, &free_any, c10::Device(c10::DeviceType::CPU)};
  }
  // oneDNN allocates its scratch memory with raw_allocate.
  c10::DeleterFnPtr raw_deleter() const override { return &free_any; }
  TUTTI_ALLOCATOR_COPY

  void add(MemorySource& source, SourceOrder order) {
    sources_[static_cast<std::size_t>(order)].store(&source, std::memory_order_release);
    if (c10::GetCPUAllocator() != this) c10::SetCPUAllocator(this, kPriority);
  }

 private:
  static constexpr std::uint8_t kPriority = 100;  // above libtorch's default allocator

  static void free_any(void* address) {
    if (!address) return;
    ChainAllocator& chain = instance();
    for (const auto& each : chain.sources_) {
      MemorySource* const source = each.load(std::memory_order_acquire);
      if (source && source->free(address)) return;
    }
    chain.before_->raw_deallocate(address);
  }

  c10::Allocator* const before_ = c10::GetCPUAllocator();
  std::array<std::atomic<MemorySource*>, 2> sources_ = {};
};

}  // namespace

void add_source(MemorySource& source, SourceOrder order) {
  ChainAllocator::instance().add(source, order);
}

}  // namespace tutti::lms
