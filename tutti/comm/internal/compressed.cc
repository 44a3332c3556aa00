#include "tutti/comm/internal/compressed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tutti/comm/internal/calls.h"
#include "tutti/comm/internal/state.h"
#include "tutti/comm/kernels/kernels.h"

namespace tutti::comm {
namespace {

// Number of elements that each of `parts` ranks owns.
std::vector<std::int64_t> even_pieces(std::int64_t count, int parts) {
  std::vector<std::int64_t> pieces;
  for (int p = 0; p < parts; ++p) {
    pieces.push_back(count * (p + 1) / parts - count * p / parts);
  }
  return pieces;
}

ConstBuffer bytes_of(const std::vector<std::byte>& bytes) {
  return {bytes.data(), std::ssize(bytes), DType::kU8};
}
Buffer bytes_of(std::vector<std::byte>& bytes) {
  return {bytes.data(), std::ssize(bytes), DType::kU8};
}

}  // namespace

CompressedReducer::CompressedReducer(Communicator& whole) : ranks_(whole.size()) {
  const auto& hosts = whole.layout().hosts;
  const bool by_host = hosts.size() > 1 && hosts[0].ranks.size() > 1 &&
                       std::all_of(hosts.begin(), hosts.end(), [&](const topo::Host& host) {
                         return host.ranks.size() == hosts[0].ranks.size();
                       });
  if (!by_host) {
    rail_ = whole.split(0, whole.rank());
    return;
  }
  const int host = whole.grid().host_of(whole.rank());
  host_ = whole.split(host, whole.local_rank());
  rail_ = whole.split(whole.local_rank(), host);
}

void CompressedReducer::all_reduce(ConstBuffer input, Buffer output, ReduceOp op,
                                   const Codec& codec, const std::string& name) {
  if (output.data != input.data) std::memmove(output.data, input.data, input.bytes());
  if (codec.kind() == Compression::kBF16 || codec.kind() == Compression::kF16) {
    return reduce_halves(output, op, codec, name);
  }
  Residuals& residuals = residuals_[{name, codec.text(), input.count}];
  if (!host_) {
    return reduce_on_rail(
        {static_cast<float*>(output.data), static_cast<std::size_t>(output.count)}, op, codec,
        residuals);
  }
  const CallOptions call{.name = name};
  const auto pieces = even_pieces(output.count, host_->size());
  slice_.resize(static_cast<std::size_t>(pieces[host_->rank()]));
  host_->reduce_scatter(output, Buffer::of(std::span(slice_)), ReduceOp::kSum, pieces, call);
  reduce_on_rail(slice_, op, codec, residuals);
  host_->all_gather(Buffer::of(std::span(slice_)), output, pieces, call);
}

void CompressedReducer::reduce_on_rail(std::span<float> values, ReduceOp op, const Codec& codec,
                                       Residuals& residuals) {
  if (codec.kind() == Compression::kInt8) reduce_blocks(values, codec, residuals);
  if (codec.kind() == Compression::kTopK) reduce_largest(values, codec, residuals);
  if (op == ReduceOp::kAverage) divide(values);
}

void CompressedReducer::divide(std::span<float> values) const {
  if (values.empty()) return;
  const void* sources[1] = {values.data()};
  void* targets[1] = {values.data()};
  reduce(DType::kF32, ReduceOp::kAverage, sources, targets, std::ssize(values), ranks_);
}

// Works in chunks: while one is on the rail, others are reduced within the host, encoded, decoded and gathered, so the
// network is never idle.
void CompressedReducer::reduce_halves(Buffer output, ReduceOp op, const Codec& codec,
                                      const std::string& name) {
  auto* values = static_cast<float*>(output.data);
  const std::int64_t step = kChunk * (host_ ? host_->size() : 1);
  const auto finish = [&](Chunk& chunk) {
    chunk.travel.wait();
    codec.decode(chunk.wire.data(), chunk.mine);
    if (op == ReduceOp::kAverage) divide(chunk.mine);
    if (host_) host_->all_gather(Buffer::of(chunk.mine), chunk.all, chunk.pieces, {.name = name});
  };
  std::size_t begun = 0, finished = 0;
  for (std::int64_t at = 0; at < output.count; at += step) {
    if (begun - finished == chunks_.size()) finish(chunks_[finished++ % chunks_.size()]);
    Chunk& chunk = chunks_[begun++ % chunks_.size()];
    chunk.all = {values + at, std::min(step, output.count - at), DType::kF32};
    send(chunk, codec, name);
  }
  while (finished < begun) finish(chunks_[finished++ % chunks_.size()]);
}

void CompressedReducer::send(Chunk& chunk, const Codec& codec, const std::string& name) {
  chunk.mine = {static_cast<float*>(chunk.all.data), static_cast<std::size_t>(chunk.all.count)};
  if (host_) {
    chunk.pieces = even_pieces(chunk.all.count, host_->size());
    chunk.slice.resize(static_cast<std::size_t>(chunk.pieces[host_->rank()]));
    chunk.mine = chunk.slice;
    host_->reduce_scatter(chunk.all, Buffer::of(chunk.mine), ReduceOp::kSum, chunk.pieces,
                          {.name = name});
  }
  chunk.wire.resize(codec.encoded_bytes(std::ssize(chunk.mine)));
  codec.encode(chunk.mine, {}, chunk.wire.data());
  const DType dtype = codec.kind() == Compression::kBF16 ? DType::kBF16 : DType::kF16;
  const Buffer wire{chunk.wire.data(), std::ssize(chunk.mine), dtype};
  chunk.travel = rail_->all_reduce_async(wire, wire, ReduceOp::kSum);
}

void CompressedReducer::reduce_blocks(std::span<float> values, const Codec& codec,
                                      Residuals& residuals) {
  const int ranks = rail_->size();
  const auto pieces = even_pieces(std::ssize(values), ranks);
  const auto own_count = static_cast<std::size_t>(pieces[rail_->rank()]);
  residuals.of_input.resize(values.size());
  residuals.of_result.resize(own_count);
  std::vector<std::int64_t> sends;  // bytes of each encoded piece
  for (const std::int64_t piece : pieces) {
    sends.push_back(static_cast<std::int64_t>(codec.encoded_bytes(piece)));
  }
  const std::int64_t total = std::accumulate(sends.begin(), sends.end(), std::int64_t{0});
  const std::vector<std::int64_t> receives(pieces.size(), sends[rail_->rank()]);

  std::vector<std::byte> outgoing(static_cast<std::size_t>(total));
  std::size_t value_at = 0, byte_at = 0;
  for (int r = 0; r < ranks; ++r) {
    const auto count = static_cast<std::size_t>(pieces[r]);
    codec.encode(values.subspan(value_at, count),
                 std::span(residuals.of_input).subspan(value_at, count), outgoing.data() + byte_at);
    value_at += count;
    byte_at += static_cast<std::size_t>(sends[r]);
  }
  std::vector<std::byte> incoming(static_cast<std::size_t>(receives[0]) * pieces.size());
  rail_->all_to_all(bytes_of(std::as_const(outgoing)), bytes_of(incoming), sends, receives);

  std::vector<float> sum(own_count, 0);
  for (int r = 0; r < ranks; ++r) {
    codec.accumulate(incoming.data() + static_cast<std::size_t>(r * receives[0]), sum);
  }
  std::vector<std::byte> result(static_cast<std::size_t>(receives[0]));
  codec.encode(sum, residuals.of_result, result.data());
  rail_->all_gather(bytes_of(std::as_const(result)), bytes_of(outgoing), sends);
  value_at = byte_at = 0;
  for (int r = 0; r < ranks; ++r) {
    const auto count = static_cast<std::size_t>(pieces[r]);
    codec.decode(outgoing.data() + byte_at, values.subspan(value_at, count));
    value_at += count;
    byte_at += static_cast<std::size_t>(sends[r]);
  }
}

void CompressedReducer::reduce_largest(std::span<float> values, const Codec& codec,
                                       Residuals& residuals) {
  residuals.of_input.resize(values.size());
  const std::size_t bytes = codec.encoded_bytes(std::ssize(values));
  std::vector<std::byte> mine(bytes), all(bytes * static_cast<std::size_t>(rail_->size()));
  codec.encode(values, residuals.of_input, mine.data());
  rail_->all_gather(bytes_of(std::as_const(mine)), bytes_of(all));
  std::fill(values.begin(), values.end(), 0.0f);
  for (std::size_t at = 0; at < all.size(); at += bytes) codec.accumulate(all.data() + at, values);
}

// Defined here, because communicator.cc must not depend on the reducer, which consists of communicators.
Work Communicator::start_compressed(ConstBuffer input, Buffer output, ReduceOp op,
                                    const CallOptions& call) {
  const Operation operation = all_reduce_of(input, output, op, call);
  require(operation.dtype == DType::kF32 && (op == ReduceOp::kSum || op == ReduceOp::kAverage),
          "Compression works for f32 with sum or average, not for {} with {}.",
          name_of(operation.dtype), name_of(op));
  if (!state_->compressed) {
    state_->compressed = std::make_shared<CompressedReducer>(*this);
    for (Communicator* part : state_->compressed->parts()) {
      part->state_->membership->follow(*state_->membership);
    }
  }
  const std::string form = call.compression.text();
  const std::string shown = call.name.empty() ? form : fmt::format("{} as {}", call.name, form);
  return state_->start_as(
      operation, shown,
      [reducer = state_->compressed.get(), input, output, op, codec = call.compression,
       name = std::string(call.name)] { reducer->all_reduce(input, output, op, codec, name); });
}

}  // namespace tutti::comm
