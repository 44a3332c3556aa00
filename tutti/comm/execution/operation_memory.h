// Memory of one operation as its plan sees it: the caller's, or library memory if peers map it.
#pragma once

#include <array>
#include <cstddef>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/plan/plan.h"

namespace tutti::comm {

// Peers can map only memory of the arena. Other memory is staged lane by lane through the arena, and so are pieces with
// gaps between them, because plans assume contiguous pieces.
class OperationMemory {
 public:
  // `arena` must outlive this object.
  explicit OperationMemory(Arena& arena) : arena_(arena) {}
  ~OperationMemory();
  OperationMemory(const OperationMemory&) = delete;
  OperationMemory& operator=(const OperationMemory&) = delete;

  // True if running the plan needs little library memory in addition to the caller's buffers.
  bool has_room_for(const plan::Plan& plan, const Operation& operation) const;
  // Begins the operation, which must stay alive until the last `stage_out`. Returns true if peers map its memory.
  bool prepare(const plan::Plan& plan, const Operation& operation);
  void stage_in(const plan::Lane& lane) const;
  void stage_out(const plan::Lane& lane) const;
  // Must not be called after a failure, because peers may still read the blocks.
  void release_large_blocks();

  // Address of a range in this rank's memory.
  std::byte* own(const plan::Range& range) const { return base(range.space) + offset_of(range); }
  std::size_t bytes_of(const plan::Range& range) const {
    return static_cast<std::size_t>(range.count) * width_;
  }
  std::size_t offset_of(const plan::Range& range) const {
    return static_cast<std::size_t>(range.begin) * width_;
  }
  std::byte* base(plan::Space space) const { return spaces_[static_cast<std::size_t>(space)]; }

 private:
  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  std::byte* library_memory(plan::Space space, std::size_t bytes);
  template <class Copy>
  void for_each_piece(const Copy& copy) const;

  Arena& arena_;
  const Operation* operation_ = nullptr;
  std::size_t width_ = 1;
  // Indexed by plan::Space, like `blocks_`. Plans never write to the input.
  std::array<std::byte*, 3> spaces_{};
  bool stages_input_ = false;
  bool stages_output_ = false;
  // Library memory for input, output and scratch. Blocks up to this size are cached between operations; larger ones are
  // released, so a single large operation does not hold memory for the rest of the job.
  static constexpr std::size_t kMostKeptBytes = std::size_t{32} << 20;
  std::array<Block, 3> blocks_{};
};

}  // namespace tutti::comm
