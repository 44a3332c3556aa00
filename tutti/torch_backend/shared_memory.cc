#include "tutti/torch_backend/shared_memory.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "tutti/comm/transport/shm/arena.h"
#include "tutti/core/error.h"
#include "tutti/lms/hooks/cpu_allocator.h"
#include "tutti/torch_backend/block_cache.h"
#include "tutti/torch_backend/compat.h"

namespace tutti::torch_backend {
namespace {

using comm::Arena;

struct Block {
  std::shared_ptr<Arena> arena;
  void* address;
};

void free_block(void* context) {
  const std::unique_ptr<Block> block(static_cast<Block*>(context));
  block->arena->free(block->address);
}

// Returns an empty pointer if there is not enough memory.
at::DataPtr take(const std::shared_ptr<Arena>& arena, std::size_t bytes) {
  try {
    void* const address = arena->allocate(bytes);
    return {address, new Block{arena, address}, &free_block, at::Device(at::kCPU)};
  } catch (const MemoryError&) {
    return {};
  }
}

// Source of the process's CPU allocator. It is never destroyed, and neither are its caches: tensors may outlive the
// call that disables it and the arena they were allocated from.
class SharedSource final : public lms::MemorySource {
 public:
  static SharedSource& instance() {
    static auto* const source = new SharedSource;
    return *source;
  }

  void* allocate(std::size_t bytes) override {
    const std::size_t least = least_bytes_.load(std::memory_order_acquire);
    if (least == 0 || bytes < least) return nullptr;
    return current_.load(std::memory_order_acquire)->take(bytes);
  }

  // Lock-free: caches are only added, and a forked child must not wait for a lock that a thread of its parent held.
  bool free(void* address) override {
    for (BlockCache* cache = current_.load(std::memory_order_acquire); cache;
         cache = cache->before()) {
      if (cache->arena()->find(address, 1)) return cache->give_back(address);
    }
    return false;
  }

  void use(const std::shared_ptr<Arena>& arena, std::size_t least_bytes) {
    const std::lock_guard lock(mutex_);
    BlockCache* const current = current_.load(std::memory_order_relaxed);
    if (!current || current->arena() != arena) {
      current_.store(new BlockCache(arena, current), std::memory_order_release);
    }
    least_bytes_.store(least_bytes, std::memory_order_release);
    lms::add_source(*this, lms::SourceOrder::kSharedMemory);
  }

 private:
  std::mutex mutex_;
  std::atomic<BlockCache*> current_ = nullptr;  // head of a list of all caches
  std::atomic<std::size_t> least_bytes_ = 0;
};

}  // namespace

at::Tensor empty_shared(comm::Communicator& communicator, at::IntArrayRef sizes,
                        at::ScalarType type) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  const std::size_t bytes = static_cast<std::size_t>(count) * c10::elementSize(type);
  at::Tensor tensor = at::empty({0}, at::TensorOptions().dtype(type));
  const auto arena = communicator.arena();
  void* const address = arena->allocate(bytes);
  at::DataPtr memory(address, new Block{arena, address}, &free_block, at::Device(at::kCPU));
  const at::Storage storage(at::Storage::use_byte_size_t(), bytes, std::move(memory),
                            c10::GetCPUAllocator(), true);
  return tensor.set_(storage, 0, sizes);
}

bool share(comm::Communicator& communicator, const at::Tensor& tensor) {
  const at::Storage& storage = tensor.storage();
  const std::size_t bytes = storage.nbytes();
  const auto arena = communicator.arena();
  if (arena->find(storage.data(), bytes)) return true;
  if (!tensor.device().is_cpu() || !storage.resizable() || bytes == 0) return false;
  at::DataPtr memory = take(arena, bytes);
  if (!memory) return false;
  std::memcpy(memory.get(), storage.data(), bytes);
  storage.set_data_ptr_noswap(std::move(memory));
  return true;
}

bool is_shared(comm::Communicator& communicator, const at::Tensor& tensor) {
  return communicator.arena()->find(tensor.storage().data(), tensor.storage().nbytes()).has_value();
}

void share_if_private(comm::Communicator* communicator, const at::Tensor& tensor) {
  if (!communicator || tensor.nbytes() < kLeastSharedBytes || is_known_to_python(tensor)) return;
  if (communicator->local_size() == 1 || tensor.storage().nbytes() != tensor.nbytes()) return;
  share(*communicator, tensor);
}

void allocate_shared(comm::Communicator& communicator, std::size_t least_bytes) {
  SharedSource::instance().use(communicator.arena(), least_bytes);
}

}  // namespace tutti::torch_backend
