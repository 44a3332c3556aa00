// Memory of one operation as its plan sees it: the caller's, or library memory where peers map it.
#pragma once

#include <array>
#include <cstddef>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/plan/plan.h"

namespace tutti::comm {

// Memory that peers map must be in the arena; other memory is staged lane by lane through memory
// that is. So are pieces with gaps between them: plans know contiguous ones only.
class OperationMemory {
 public:
  // `arena` must outlive this.
  explicit OperationMemory(Arena& arena) : arena_(arena) {}
  ~OperationMemory();
  OperationMemory(const OperationMemory&) = delete;
  OperationMemory& operator=(const OperationMemory&) = delete;

  // Running the plan takes little library memory beyond the caller's own buffers.
  bool has_room_for(const plan::Plan& plan, const Operation& operation) const;
  // The operation begins; it must stay until the last `stage_out`. Returns whether peers map its
  // memory.
  bool prepare(const plan::Plan& plan, const Operation& operation);
  void stage_in(const plan::Lane& lane) const;
  void stage_out(const plan::Lane& lane) const;
  // Not after a failure: peers may still read it.
  void release_large_blocks();

  // This rank's memory of a range.
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
  // By plan::Space, as `blocks_`. Plans never write to the input.
  std::array<std::byte*, 3> spaces_{};
  bool stages_input_ = false;
  bool stages_output_ = false;
  // Library memory for input, output and scratch. Kept between operations up to this size each: a
  // program that once moved a gigabyte shall not hold a copy of it for ever.
  static constexpr std::size_t kMostKeptBytes = std::size_t{32} << 20;
  std::array<Block, 3> blocks_{};
};

}  // namespace tutti::comm
