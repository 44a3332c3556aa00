#include "tutti/comm/internal/compressed.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tutti/comm/internal/calls.h"
#include "tutti/comm/kernels.h"

namespace tutti::comm {
namespace {

// The elements of `count` that each of `parts` ranks owns.
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
  const CallOptions call{.name = name};
  auto* values = static_cast<float*>(output.data);
  if (output.data != input.data) std::memmove(output.data, input.data, input.bytes());
  Residuals& residuals = residuals_[{name, codec.text(), input.count}];
  if (!host_) {
    reduce_on_rail({values, static_cast<std::size_t>(output.count)}, codec, residuals);
  } else {
    const auto pieces = even_pieces(output.count, host_->size());
    const auto count = static_cast<std::size_t>(pieces[host_->rank()]);
    if (slice_.size() < count) slice_.resize(count);
    const std::span slice = std::span(slice_).first(count);
    host_->reduce_scatter(output, Buffer::of(slice), ReduceOp::kSum, pieces, call);
    reduce_on_rail(slice, codec, residuals);
    host_->all_gather(Buffer::of(slice), output, pieces, call);
  }
  if (op == ReduceOp::kAverage && output.count > 0) {
    const void* sources[1] = {output.data};
    void* targets[1] = {output.data};
    reduce(DType::kF32, ReduceOp::kAverage, sources, targets, output.count, ranks_);
  }
}

void CompressedReducer::reduce_on_rail(std::span<float> values, const Codec& codec,
                                       Residuals& residuals) {
  switch (codec.kind()) {
    case Compression::kNone: return rail_->all_reduce(Buffer::of(values));
    case Compression::kBF16:
    case Compression::kF16: return reduce_halves(values, codec);
    case Compression::kInt8: return reduce_blocks(values, codec, residuals);
    case Compression::kTopK: return reduce_largest(values, codec, residuals);
  }
}

void CompressedReducer::reduce_halves(std::span<float> values, const Codec& codec) {
  const DType dtype = codec.kind() == Compression::kBF16 ? DType::kBF16 : DType::kF16;
  const std::size_t bytes = codec.encoded_bytes(std::ssize(values));
  if (wire_.size() < bytes) wire_.resize(bytes);
  const auto chunk_of = [&](std::size_t begin) {
    return values.subspan(begin, std::min(kChunk, values.size() - begin));
  };
  const auto wire_of = [&](std::size_t begin) { return wire_.data() + begin * size_of(dtype); };
  // While a chunk is on its way, the one before is decoded and the next encoded.
  Work before;
  for (std::size_t begin = 0; begin < values.size(); begin += kChunk) {
    const std::span chunk = chunk_of(begin);
    codec.encode(chunk, {}, wire_of(begin));
    const Buffer buffer{wire_of(begin), std::ssize(chunk), dtype};
    const Work now = rail_->all_reduce_async(buffer, buffer, ReduceOp::kSum);
    before.wait();
    if (begin > 0) codec.decode(wire_of(begin - kChunk), chunk_of(begin - kChunk));
    before = now;
  }
  before.wait();
  const std::size_t last = values.empty() ? 0 : (values.size() - 1) / kChunk * kChunk;
  codec.decode(wire_of(last), chunk_of(last));
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

}  // namespace tutti::comm
