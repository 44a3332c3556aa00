#include "tutti/comm/transport/shm/host_all_reduce.h"

#include <algorithm>
#include <cstring>

#include "tutti/comm/kernels/kernels.h"

namespace tutti::comm {
namespace {

// Larger slices are split into pieces of this size, which early ranks take from late ones (work stealing).
constexpr std::size_t kPieceBytes = 128 * 1024;

}  // namespace

HostAllReduce::HostAllReduce(HostGroup& host, HostSlots& slots)
    : host_(host),
      slots_(slots),
      sources_(host.ranks().size()),
      targets_(host.ranks().size()),
      inputs_(host.ranks().size()),
      outputs_(host.ranks().size()) {}

Result HostAllReduce::run(const plan::Step& step, const Operation& operation,
                          const OpRecord& record) {
  if (step.protocol == plan::HostProtocol::kEager) return eager(operation, record);
  bool all_in_library = false;
  Result posted = post(operation, record, &all_in_library);
  if (!posted) return posted;
  switch (all_in_library ? step.protocol : step.fallback) {
    case plan::HostProtocol::kEager: return eager(operation, record);
    case plan::HostProtocol::kDirect: return direct(operation);
    case plan::HostProtocol::kStaged: return staged(operation);
  }
  return Result::ok();
}

Result HostAllReduce::eager(const Operation& operation, const OpRecord& record) {
  last_row_ = "host_eager";
  slots_.begin_turn();
  // The slot is free: a rank that read it two turns ago has since reached the turn after it.
  slots_.publish(record, operation.input,
                 static_cast<std::size_t>(operation.count) * size_of(operation.dtype));
  for (int member = 0; member < size(); ++member) {
    if (member == host_.index()) continue;
    const std::byte* data = nullptr;
    Result arrived = slots_.wait(member);
    if (!arrived) return arrived;
    Result agreed = slots_.published(member, record, &data);
    if (!agreed) [[unlikely]]
      return agreed;
    sources_[member] = data;
  }
  sources_[host_.index()] = operation.input;
  targets_[0] = operation.output;
  reduce(operation.dtype, operation.op, sources_, {targets_.data(), 1}, operation.count, size());
  return Result::ok();
}

Result HostAllReduce::post(const Operation& operation, const OpRecord& record,
                           bool* all_in_library) {
  const std::size_t bytes = static_cast<std::size_t>(operation.count) * size_of(operation.dtype);
  RankBlock& mine = host_.mine();
  mine.post.fingerprint = record.fingerprint();
  mine.post.input = host_.location_of(operation.input, bytes);
  mine.post.output = host_.location_of(operation.output, bytes);
  mine.claim.store(static_cast<std::uint64_t>(++post_turn_) << 32, std::memory_order_relaxed);
  raise_flag(mine.post.flag, post_turn_);
  *all_in_library = true;
  for (int member = 0; member < size(); ++member) {
    MemoryPost& theirs = host_.control_block().block(member).post;
    Result arrived = host_.wait(member, theirs.flag, post_turn_);
    if (!arrived) return arrived;
    if (theirs.fingerprint != mine.post.fingerprint) [[unlikely]]
      return host_.mismatch(member, record);
    *all_in_library &= theirs.input.segment >= 0 && theirs.output.segment >= 0;
  }
  return Result::ok();
}

HostAllReduce::Slice HostAllReduce::slice_of(int member, std::int64_t count,
                                             std::size_t element_bytes) const {
  // Full cache lines, so two ranks never write to the same one.
  const std::int64_t line = static_cast<std::int64_t>(64 / element_bytes);
  const std::int64_t lines = (count + line - 1) / line;
  const auto edge = [&](std::int64_t m) { return std::min(count, lines * m / size() * line); };
  return {edge(member), edge(member + 1) - edge(member)};
}

Result HostAllReduce::direct(const Operation& operation) {
  last_row_ = "host_direct";
  for (int member = 0; member < size(); ++member) {
    const MemoryPost& theirs = host_.control_block().block(member).post;
    Result mapped = host_.resolve(member, theirs.input, &inputs_[member]);
    outputs_[member] = inputs_[member];
    if (mapped && theirs.output != theirs.input) {
      mapped = host_.resolve(member, theirs.output, &outputs_[member]);
    }
    if (!mapped) return mapped;
  }
  for (int i = 0; i < size(); ++i) reduce_pieces(operation, (host_.index() + i) % size());
  raise_flag(host_.mine().done, post_turn_);
  for (int member = 0; member < size(); ++member) {
    Result arrived = host_.wait(member, host_.control_block().block(member).done, post_turn_);
    if (!arrived) return arrived;
  }
  return Result::ok();
}

// Takes pieces of the owner's slice until none is left, and reduces each from all inputs into all outputs.
void HostAllReduce::reduce_pieces(const Operation& operation, int owner) {
  const std::size_t width = size_of(operation.dtype);
  const Slice slice = slice_of(owner, operation.count, width);
  const std::int64_t piece = static_cast<std::int64_t>(kPieceBytes / width);
  const std::int64_t pieces = (slice.count + piece - 1) / piece;
  std::atomic<std::uint64_t>& claim = host_.control_block().block(owner).claim;
  const std::uint64_t base = static_cast<std::uint64_t>(post_turn_) << 32;
  for (;;) {
    // Check before taking: claiming a piece of a finished slice would only transfer the cache line.
    if (claim.load(std::memory_order_relaxed) >= base + static_cast<std::uint64_t>(pieces)) return;
    const std::uint64_t taken = claim.fetch_add(1, std::memory_order_relaxed) - base;
    if (taken >= static_cast<std::uint64_t>(pieces)) return;
    const std::int64_t begin = slice.begin + static_cast<std::int64_t>(taken) * piece;
    const std::int64_t count = std::min(piece, slice.begin + slice.count - begin);
    const std::size_t offset = static_cast<std::size_t>(begin) * width;
    for (int member = 0; member < size(); ++member) {
      sources_[member] = inputs_[member] + offset;
      targets_[member] = outputs_[member] + offset;
    }
    reduce(operation.dtype, operation.op, sources_, targets_, count, size());
  }
}

// Round k processes one stage of elements; slice m of it is owned by member m. Each rank
// 1. publishes the slices of round k+1 that others own;
// 2. waits for round k of all members, reduces its own slice into its output and its stage, and publishes it;
// 3. waits for the results of round k of all members and copies them.
// Two stages alternate: a stage is overwritten only after all members have passed the waits of the round in between.
Result HostAllReduce::staged(const Operation& operation) {
  last_row_ = "host_staged";
  const std::size_t width = size_of(operation.dtype);
  const std::int64_t per_round = static_cast<std::int64_t>(stage_bytes(size()) / width);
  // At least one round: no rank may post again before all members have seen its last post.
  const std::int64_t rounds =
      std::max<std::int64_t>(1, (operation.count + per_round - 1) / per_round);
  const std::uint32_t first_turn = stage_turn_ + 1;
  const auto* input = static_cast<const std::byte*>(operation.input);
  auto* output = static_cast<std::byte*>(operation.output);
  const auto count_in = [&](std::int64_t round) {
    return std::min(per_round, operation.count - round * per_round);
  };
  const auto slot = [&](int member, std::int64_t round) {
    return host_.control_block().stage(member, static_cast<std::uint32_t>(first_turn + round) % 2);
  };
  const auto publish = [&](std::int64_t round) {
    const std::byte* from = input + static_cast<std::size_t>(round * per_round) * width;
    for (int member = 0; member < size(); ++member) {
      const Slice slice = slice_of(member, count_in(round), width);
      if (member == host_.index() || slice.count == 0) continue;
      const std::size_t offset = static_cast<std::size_t>(slice.begin) * width;
      std::memcpy(slot(host_.index(), round).in + offset, from + offset,
                  static_cast<std::size_t>(slice.count) * width);
    }
    raise_flag(host_.mine().stage_in, first_turn + static_cast<std::uint32_t>(round));
  };

  publish(0);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::uint32_t turn = first_turn + static_cast<std::uint32_t>(round);
    const std::size_t round_offset = static_cast<std::size_t>(round * per_round) * width;
    if (round + 1 < rounds) publish(round + 1);
    const Slice own = slice_of(host_.index(), count_in(round), width);
    const std::size_t own_offset = static_cast<std::size_t>(own.begin) * width;
    for (int member = 0; member < size(); ++member) {
      Result arrived = host_.wait(member, host_.control_block().block(member).stage_in, turn);
      if (!arrived) return arrived;
      sources_[member] = member == host_.index() ? input + round_offset + own_offset
                                                 : slot(member, round).in + own_offset;
    }
    if (own.count > 0) {
      targets_[0] = output + round_offset + own_offset;
      targets_[1] = slot(host_.index(), round).out;
      reduce(operation.dtype, operation.op, sources_, {targets_.data(), 2}, own.count, size());
    }
    raise_flag(host_.mine().stage_out, turn);
    for (int i = 1; i < size(); ++i) {
      const int member = (host_.index() + i) % size();
      Result arrived = host_.wait(member, host_.control_block().block(member).stage_out, turn);
      if (!arrived) return arrived;
      const Slice slice = slice_of(member, count_in(round), width);
      if (slice.count == 0) continue;
      const std::size_t offset = static_cast<std::size_t>(slice.begin) * width;
      std::memcpy(output + round_offset + offset, slot(member, round).out,
                  static_cast<std::size_t>(slice.count) * width);
    }
  }
  stage_turn_ += static_cast<std::uint32_t>(rounds);
  return Result::ok();
}

}  // namespace tutti::comm
