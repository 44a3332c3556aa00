#include "tutti/comm/execution/operation_memory.h"

#include <cstring>

#include "tutti/comm/kernels/kernels.h"

// A plan addresses three spaces: input, output and scratch. For each of them this class chooses the memory:
//
// - the caller's buffer, if peers do not map it or it is in the arena;
// - a block of library memory otherwise, or if the pieces of the buffer have gaps. stage_in copies the input of a lane
//   into it, stage_out copies the output of a lane back;
// - scratch is always library memory.
//
// If input and output are the same buffer, they share one block. Blocks are kept for the next operation up to
// kMostKeptBytes.
namespace tutti::comm {

using plan::Space;

OperationMemory::~OperationMemory() {
  for (const Block& block : blocks_) {
    if (block.data) arena_.free(block.data);
  }
}

std::byte* OperationMemory::library_memory(Space space, std::size_t bytes) {
  Block& block = blocks_[static_cast<std::size_t>(space)];
  if (block.bytes < bytes) {
    if (block.data) arena_.free(block.data);
    block = {};
    block.data = arena_.allocate(bytes, 4096, &block.bytes);
  }
  return static_cast<std::byte*>(block.data);
}

bool OperationMemory::has_room_for(const plan::Plan& plan, const Operation& operation) const {
  const std::size_t width = size_of(operation.dtype);
  const auto is_mapped = [&](const void* data, std::int64_t count) {
    return count == 0 || arena_.find(data, static_cast<std::size_t>(count) * width);
  };
  if (static_cast<std::size_t>(plan.scratch_count) * width > kMostKeptBytes) return false;
  return !plan.uses_mapped_memory() || (is_mapped(operation.input, plan.input_count) &&
                                        is_mapped(operation.output, plan.output_count));
}

void OperationMemory::release_large_blocks() {
  for (Block& block : blocks_) {
    if (block.bytes <= kMostKeptBytes) continue;
    arena_.free(block.data);
    block = {};
  }
}

bool OperationMemory::prepare(const plan::Plan& plan, const Operation& operation) {
  operation_ = &operation;
  width_ = size_of(operation.dtype);
  const std::size_t input_bytes = static_cast<std::size_t>(plan.input_count) * width_;
  const std::size_t output_bytes = static_cast<std::size_t>(plan.output_count) * width_;
  // const_cast, so one function serves all three spaces; the input is never written.
  auto* input = static_cast<std::byte*>(const_cast<void*>(operation.input));
  auto* output = static_cast<std::byte*>(operation.output);
  std::byte* const scratch =
      plan.scratch_count > 0
          ? library_memory(Space::kScratch, static_cast<std::size_t>(plan.scratch_count) * width_)
          : nullptr;
  const bool has_gaps = !operation.offsets.empty();
  const bool is_mapped = plan.uses_mapped_memory();
  stages_input_ = input_bytes > 0 && ((has_gaps && operation.has_pieces_in_input()) ||
                                      (is_mapped && !arena_.find(input, input_bytes)));
  stages_output_ = output_bytes > 0 && ((has_gaps && operation.has_pieces_in_output()) ||
                                        (is_mapped && !arena_.find(output, output_bytes)));
  const bool is_shared =
      operation.input == operation.output && !has_gaps && input_bytes <= output_bytes;
  if (stages_output_) output = library_memory(Space::kOutput, output_bytes);
  if (stages_input_) {
    input = is_shared && stages_output_ ? output : library_memory(Space::kInput, input_bytes);
  }
  spaces_ = {input, output, scratch};
  return is_mapped;
}

// Calls `copy` with the offsets of each piece in the caller's memory and in library memory.
template <class Copy>
void OperationMemory::for_each_piece(const Copy& copy) const {
  const Operation& operation = *operation_;
  std::int64_t filled = 0;
  for (std::size_t rank = 0; rank < operation.offsets.size(); ++rank) {
    const std::int64_t count = operation.counts.empty() ? operation.count : operation.counts[rank];
    copy(static_cast<std::size_t>(operation.offsets[rank]) * width_,
         static_cast<std::size_t>(filled) * width_, static_cast<std::size_t>(count) * width_);
    filled += count;
  }
}

void OperationMemory::stage_in(const plan::Lane& lane) const {
  if (!stages_input_ || lane.input.count == 0) return;
  const auto* input = static_cast<const std::byte*>(operation_->input);
  if (!operation_->offsets.empty() && operation_->has_pieces_in_input()) {
    return for_each_piece([&](std::size_t theirs, std::size_t ours, std::size_t bytes) {
      std::memcpy(base(Space::kInput) + ours, input + theirs, bytes);
    });
  }
  std::memcpy(own(lane.input), input + offset_of(lane.input), bytes_of(lane.input));
}

void OperationMemory::stage_out(const plan::Lane& lane) const {
  if (!stages_output_ || lane.output.count == 0) return;
  auto* output = static_cast<std::byte*>(operation_->output);
  if (!operation_->offsets.empty() && operation_->has_pieces_in_output()) {
    return for_each_piece([&](std::size_t theirs, std::size_t ours, std::size_t bytes) {
      stream_copy(output + theirs, base(Space::kOutput) + ours, bytes);
    });
  }
  stream_copy(output + offset_of(lane.output), own(lane.output), bytes_of(lane.output));
}

}  // namespace tutti::comm
