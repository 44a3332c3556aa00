// The protocols of plan/algorithms/host.cc.
#include <algorithm>
#include <cstring>

#include "tutti/comm/kernels/kernels.h"
#include "tutti/comm/transport/shm/host_group.h"

namespace tutti::comm {
namespace {

// Slices above this are cut into pieces that early ranks take from late ones.
constexpr std::size_t kPieceBytes = 128 * 1024;

}  // namespace

Result HostGroup::all_reduce(const plan::Step& step, const Operation& operation,
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

Result HostGroup::eager(const Operation& operation, const OpRecord& record) {
  last_row_ = "host_eager";
  begin_turn();
  // The slot is free: whoever read it two turns ago has come to the turn after since.
  show(record, operation.input,
       static_cast<std::size_t>(operation.count) * size_of(operation.dtype));
  const std::uint64_t fingerprint = slot(index_).fingerprint;
  for (int member = 0; member < size(); ++member) {
    EagerSlot& theirs = slot(member);
    if (member != index_) {
      Result arrived = wait(member, theirs.flag, eager_turn_);
      if (!arrived) return arrived;
      if (theirs.fingerprint != fingerprint) [[unlikely]]
        return mismatch(member, record);
    }
    sources_[member] = theirs.payload;
  }
  sources_[index_] = operation.input;
  targets_[0] = operation.output;
  reduce(operation.dtype, operation.op, sources_, {targets_.data(), 1}, operation.count, size());
  return Result::ok();
}

Result HostGroup::post(const Operation& operation, const OpRecord& record, bool* all_in_library) {
  const std::size_t bytes = static_cast<std::size_t>(operation.count) * size_of(operation.dtype);
  const std::uint32_t turn = ++post_turn_;
  MemoryPost& post = mine().post;
  post.fingerprint = record.fingerprint();
  post.input = arena_.find(operation.input, bytes).value_or(Location{});
  post.output = arena_.find(operation.output, bytes).value_or(Location{});
  mine().claim.store(static_cast<std::uint64_t>(turn) << 32, std::memory_order_relaxed);
  raise_flag(post.flag, turn);
  *all_in_library = true;
  for (int member = 0; member < size(); ++member) {
    MemoryPost& theirs = board_.block(member).post;
    Result arrived = wait(member, theirs.flag, turn);
    if (!arrived) return arrived;
    if (theirs.fingerprint != post.fingerprint) [[unlikely]]
      return mismatch(member, record);
    *all_in_library &= theirs.input.segment >= 0 && theirs.output.segment >= 0;
  }
  return Result::ok();
}

HostGroup::Slice HostGroup::slice_of(int member, std::int64_t count,
                                     std::size_t element_bytes) const {
  // Whole cache lines, so that two ranks never write to one.
  const std::int64_t line = static_cast<std::int64_t>(64 / element_bytes);
  const std::int64_t lines = (count + line - 1) / line;
  const auto edge = [&](std::int64_t m) { return std::min(count, lines * m / size() * line); };
  return {edge(member), edge(member + 1) - edge(member)};
}

Result HostGroup::direct(const Operation& operation) {
  last_row_ = "host_direct";
  const std::uint32_t turn = post_turn_;
  for (int member = 0; member < size(); ++member) {
    const MemoryPost& theirs = board_.block(member).post;
    Result mapped = resolve(member, theirs.input, &inputs_[member])
                    << [&] { return resolve(member, theirs.output, &outputs_[member]); };
    if (!mapped) return mapped;
  }
  for (int i = 0; i < size(); ++i) fold_pieces(operation, (index_ + i) % size(), turn);
  raise_flag(mine().done, turn);
  for (int member = 0; member < size(); ++member) {
    Result arrived = wait(member, board_.block(member).done, turn);
    if (!arrived) return arrived;
  }
  return Result::ok();
}

// Takes pieces of the owner's slice until none is left, and folds each from all inputs into all
// outputs.
void HostGroup::fold_pieces(const Operation& operation, int owner, std::uint32_t turn) {
  const std::size_t width = size_of(operation.dtype);
  const Slice slice = slice_of(owner, operation.count, width);
  const std::int64_t piece = static_cast<std::int64_t>(kPieceBytes / width);
  const std::int64_t pieces = (slice.count + piece - 1) / piece;
  std::atomic<std::uint64_t>& claim = board_.block(owner).claim;
  const std::uint64_t base = static_cast<std::uint64_t>(turn) << 32;
  for (;;) {
    // Look before taking: a slice that is finished is not worth the cache line.
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

// Round k handles one stage full of elements, slice m of it owned by member m. Each rank
//   shows the slices of round k+1 that others own,
//   waits for everybody's round k, folds its own slice into its output and its stage, shows that,
//   waits for everybody's results of round k and takes them.
// Two stages alternate: a stage is written again only after all have passed the waits of the round
// between.
Result HostGroup::staged(const Operation& operation) {
  last_row_ = "host_staged";
  const std::size_t width = size_of(operation.dtype);
  const std::int64_t per_round = static_cast<std::int64_t>(stage_bytes(size()) / width);
  // At least one: no rank may post again before all have seen its last post.
  const std::int64_t rounds =
      std::max<std::int64_t>(1, (operation.count + per_round - 1) / per_round);
  const std::uint32_t first_turn = stage_turn_ + 1;
  const auto* input = static_cast<const std::byte*>(operation.input);
  auto* output = static_cast<std::byte*>(operation.output);
  const auto count_in = [&](std::int64_t round) {
    return std::min(per_round, operation.count - round * per_round);
  };
  const auto slot = [&](int member, std::int64_t round) {
    return board_.stage(member, static_cast<std::uint32_t>(first_turn + round) % 2);
  };
  const auto show = [&](std::int64_t round) {
    const std::byte* from = input + static_cast<std::size_t>(round * per_round) * width;
    for (int member = 0; member < size(); ++member) {
      const Slice slice = slice_of(member, count_in(round), width);
      if (member == index_ || slice.count == 0) continue;
      const std::size_t offset = static_cast<std::size_t>(slice.begin) * width;
      std::memcpy(slot(index_, round).in + offset, from + offset,
                  static_cast<std::size_t>(slice.count) * width);
    }
    raise_flag(mine().stage_in, first_turn + static_cast<std::uint32_t>(round));
  };

  show(0);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::uint32_t turn = first_turn + static_cast<std::uint32_t>(round);
    const std::size_t round_offset = static_cast<std::size_t>(round * per_round) * width;
    if (round + 1 < rounds) show(round + 1);
    const Slice own = slice_of(index_, count_in(round), width);
    const std::size_t own_offset = static_cast<std::size_t>(own.begin) * width;
    for (int member = 0; member < size(); ++member) {
      Result arrived = wait(member, board_.block(member).stage_in, turn);
      if (!arrived) return arrived;
      sources_[member] = member == index_ ? input + round_offset + own_offset
                                          : slot(member, round).in + own_offset;
    }
    if (own.count > 0) {
      targets_[0] = output + round_offset + own_offset;
      targets_[1] = slot(index_, round).out;
      reduce(operation.dtype, operation.op, sources_, {targets_.data(), 2}, own.count, size());
    }
    raise_flag(mine().stage_out, turn);
    for (int i = 1; i < size(); ++i) {
      const int member = (index_ + i) % size();
      Result arrived = wait(member, board_.block(member).stage_out, turn);
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
