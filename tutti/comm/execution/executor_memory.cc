// How the executor finds the memory of an operation and shows it to peers, and how peers check each
// other.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tutti/comm/execution/executor.h"
#include "tutti/comm/kernels/kernels.h"

namespace tutti::comm {

using plan::Space;

std::size_t Executor::bytes_of(const plan::Range& range) const {
  return static_cast<std::size_t>(range.count) * width_;
}

std::byte* Executor::own(const plan::Range& range) const {
  const std::size_t offset = static_cast<std::size_t>(range.begin) * width_;
  switch (range.space) {
    // Plans never write to the input; the cast only lets one function serve both.
    case Space::kInput: return const_cast<std::byte*>(input_) + offset;
    case Space::kOutput: return output_ + offset;
    case Space::kScratch: return scratch_ + offset;
  }
  return nullptr;
}

std::byte* Executor::library_memory(std::size_t slot, std::size_t bytes) {
  Block& block = blocks_[slot];
  if (block.bytes < bytes) {
    if (block.data) parts_.arena->free(block.data);
    block = {};
    block.data = parts_.arena->allocate(bytes, 4096, &block.bytes);
  }
  return static_cast<std::byte*>(block.data);
}

bool Executor::has_room_for(const plan::Plan& plan, const Operation& operation) const {
  const std::size_t width = size_of(operation.dtype);
  const auto is_mapped = [&](const void* data, std::int64_t count) {
    return count == 0 || parts_.arena->find(data, static_cast<std::size_t>(count) * width);
  };
  if (static_cast<std::size_t>(plan.scratch_count) * width > kMostKeptBytes) return false;
  return !plan.uses_mapped_memory() || (is_mapped(operation.input, plan.input_count) &&
                                        is_mapped(operation.output, plan.output_count));
}

// Not after a failure: peers may still read it.
void Executor::release_large_blocks() {
  for (Block& block : blocks_) {
    if (block.bytes <= kMostKeptBytes) continue;
    parts_.arena->free(block.data);
    block = {};
  }
}

// Memory that peers map must lie in the arena; what does not is staged lane by lane through memory
// that does. So are pieces with gaps between them: plans know contiguous ones only.
Result Executor::prepare_memory(const plan::Plan& plan, const Operation& operation,
                                const OpRecord& record) {
  const std::size_t input_bytes = static_cast<std::size_t>(plan.input_count) * width_;
  const std::size_t output_bytes = static_cast<std::size_t>(plan.output_count) * width_;
  input_ = static_cast<const std::byte*>(operation.input);
  output_ = static_cast<std::byte*>(operation.output);
  scratch_ = plan.scratch_count > 0
                 ? library_memory(2, static_cast<std::size_t>(plan.scratch_count) * width_)
                 : nullptr;
  const bool has_gaps = !operation.offsets.empty();
  const bool is_mapped = plan.uses_mapped_memory();
  stages_input_ = input_bytes > 0 && ((has_gaps && operation.has_pieces_in_input()) ||
                                      (is_mapped && !parts_.arena->find(input_, input_bytes)));
  stages_output_ = output_bytes > 0 && ((has_gaps && operation.has_pieces_in_output()) ||
                                        (is_mapped && !parts_.arena->find(output_, output_bytes)));
  const bool is_shared =
      operation.input == operation.output && !has_gaps && input_bytes <= output_bytes;
  if (stages_output_) output_ = library_memory(1, output_bytes);
  if (stages_input_) {
    input_ = is_shared && stages_output_ ? output_ : library_memory(0, input_bytes);
  }
  return is_mapped ? parts_.host->open_windows(record, input_, output_, scratch_) : Result::ok();
}

// Calls `copy` with the places of each piece in the caller's memory and in ours.
template <class Copy>
void Executor::for_each_piece(const Copy& copy) const {
  const Operation& operation = *operation_;
  std::int64_t filled = 0;
  for (std::size_t rank = 0; rank < operation.offsets.size(); ++rank) {
    const std::int64_t count = operation.counts.empty() ? operation.count : operation.counts[rank];
    copy(static_cast<std::size_t>(operation.offsets[rank]) * width_,
         static_cast<std::size_t>(filled) * width_, static_cast<std::size_t>(count) * width_);
    filled += count;
  }
}

void Executor::stage_in(const plan::Lane& lane) {
  if (!stages_input_ || lane.input.count == 0) return;
  const auto* input = static_cast<const std::byte*>(operation_->input);
  if (!operation_->offsets.empty() && operation_->has_pieces_in_input()) {
    return for_each_piece([&](std::size_t theirs, std::size_t ours, std::size_t bytes) {
      std::memcpy(const_cast<std::byte*>(input_) + ours, input + theirs, bytes);
    });
  }
  const std::size_t offset = static_cast<std::size_t>(lane.input.begin) * width_;
  std::memcpy(own(lane.input), input + offset, bytes_of(lane.input));
}

void Executor::stage_out(const plan::Lane& lane) {
  if (!stages_output_ || lane.output.count == 0) return;
  auto* output = static_cast<std::byte*>(operation_->output);
  if (!operation_->offsets.empty() && operation_->has_pieces_in_output()) {
    return for_each_piece([&](std::size_t theirs, std::size_t ours, std::size_t bytes) {
      stream_copy(output + theirs, output_ + ours, bytes);
    });
  }
  const std::size_t offset = static_cast<std::size_t>(lane.output.begin) * width_;
  stream_copy(output + offset, own(lane.output), bytes_of(lane.output));
}

int Executor::neighbour(const std::vector<int>& group, int rank, int distance) {
  const auto size = static_cast<std::ptrdiff_t>(group.size());
  const auto place = std::find(group.begin(), group.end(), rank) - group.begin();
  return group[static_cast<std::size_t>((place + distance + size) % size)];
}

// Every rank tells each peer it will send to which operation it is in, before any data; and its
// neighbour in a group whose collective the transport's library does.
Result Executor::send_headers(const plan::Plan& plan, const OpRecord& record) {
  std::vector<int> receivers;
  const auto add = [&](int receiver, int sender) {
    const bool is_new =
        receiver >= 0 && std::find(receivers.begin(), receivers.end(), receiver) == receivers.end();
    if (is_new) receivers.push_back(receiver);
    if (sender < 0 || find_header(sender)) return;
    expected_headers_.push_back(std::make_unique<ExpectedHeader>());
    expected_headers_.back()->peer = sender;
  };
  for (const plan::Lane& lane : plan.lanes) {
    for (const plan::Step& step : lane.steps) {
      if (step.kind == plan::StepKind::kVendor && plan.groups[step.group].size() > 1) {
        const auto& group = plan.groups[step.group];
        add(neighbour(group, parts_.rank, 1), neighbour(group, parts_.rank, -1));
      }
      if (step.kind != plan::StepKind::kExchange) continue;
      add(step.source.count > 0 ? step.send_to : -1,
          step.target.count > 0 ? step.receive_from : -1);
    }
  }
  for (const int peer : receivers) {
    pending_headers_.push_back(parts_.wire->send(peer, 0, &record, sizeof record));
  }
  for (auto& header : expected_headers_) {
    header->receiving =
        parts_.wire->receive(header->peer, 0, &header->record, sizeof header->record);
  }
  return Result::ok();
}

ExpectedHeader* Executor::find_header(int peer) {
  for (auto& header : expected_headers_) {
    if (header->peer == peer) return header.get();
  }
  return nullptr;
}

Result Executor::check_header(int peer, bool* agreed) {
  ExpectedHeader& header = *find_header(peer);
  if (header.receiving) {
    Result outcome = header.receiving->test(agreed);
    if (!outcome) return std::move(outcome).because(fmt::format("waiting for rank {}", peer));
    if (!*agreed) return outcome;
    header.receiving.reset();
    if (!header.record.agrees_with(*record_)) {
      return disagreement(parts_.rank, *record_, peer, header.record);
    }
  }
  *agreed = true;
  return Result::ok();
}

// True when no header of this rank is still on its way: their memory must stay until then.
Result Executor::finish_headers(bool* finished) {
  while (!pending_headers_.empty()) {
    bool sent = false;
    Result outcome = pending_headers_.back()->test(&sent);
    if (!outcome) return outcome;
    if (!sent) break;
    pending_headers_.pop_back();
  }
  *finished = pending_headers_.empty();
  return Result::ok();
}

}  // namespace tutti::comm
