#include "tutti/fusion/internal/bucket_runner.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tutti/core/clock.h"
#include "tutti/fusion/internal/arithmetic.h"

// An all_reduce bucket is executed in the first of these ways that applies:
//
// - in place: the tensors are consecutive in memory, and each output is its input. One all_reduce, no copies;
// - one tensor: one all_reduce from its input to its output;
// - packed: the inputs are copied to one block of library memory, with the identity element for tensors that this rank
//   has not submitted because it has joined; one all_reduce; the results are copied to the outputs.
//
// Prescaling is part of the first copy, postscaling of the last one; without a copy they are separate passes. All other
// kinds have one tensor or group per bucket. all_gather and all_to_all first exchange the numbers of rows, because the
// sizes of their results depend on all ranks.
namespace tutti::fusion {
namespace {

void copy(void* target, const void* source, std::size_t bytes) {
  if (bytes > 0 && target != source) std::memcpy(target, source, bytes);
}

const std::byte* end_of(const Buffer& buffer) {
  return static_cast<const std::byte*>(buffer.data) + buffer.bytes();
}

// Returns the pieces as one buffer if they are contiguous and reduced in place, otherwise an empty buffer.
template <class Pieces>
Buffer adjacent(const Pieces& pieces) {
  Buffer whole = pieces[0].output;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto& [input, output] = pieces[i];
    if (input.data == nullptr || input.data != output.data) return {};
    if (i > 0 && output.data != end_of(whole)) return {};
    if (i > 0) whole.count += output.count;
  }
  return whole;
}

}  // namespace

BucketRunner::~BucketRunner() {
  if (memory_) communicator_.free(memory_);
}

void* BucketRunner::memory(std::size_t bytes) {
  if (bytes > memory_bytes_) {
    if (memory_) communicator_.free(std::exchange(memory_, nullptr));
    memory_bytes_ = 0;
    memory_ = communicator_.allocate(bytes, 64, &memory_bytes_);
  }
  return memory_;
}

void BucketRunner::run(const std::vector<Member>& bucket) {
  const Member& first = bucket[0];
  const std::int64_t begin = now_ns();
  switch (first.report->signature.kind) {
    case Kind::kAllReduce: all_reduce(bucket); break;
    case Kind::kAdasum: adasum(first); break;
    case Kind::kAllGather: all_gather(first); break;
    case Kind::kBroadcast: broadcast(first); break;
    case Kind::kAllToAll: all_to_all(first); break;
    case Kind::kReduceScatter: reduce_scatter(first); break;
    case Kind::kBarrier: communicator_.barrier({first.report->name}); break;
    case Kind::kTimeline: timeline_.write(communicator_); return;
  }
  timeline_.add(Timeline::Row::kReduction, first.report->signature.text(), first.report->name,
                begin, now_ns());
}

void BucketRunner::all_reduce(const std::vector<Member>& bucket) {
  std::vector<Piece> pieces;
  std::int64_t count = 0;
  for (const Member& member : bucket) {
    const Signature& signature = member.report->signature;
    for (std::size_t t = 0; t < signature.counts.size(); ++t) {
      const std::int64_t elements = signature.counts[t];
      count += elements;
      if (elements == 0) continue;
      if (member.call) {
        pieces.push_back({member.call->tensors[t].input, member.call->tensors[t].output});
      } else {
        pieces.push_back(
            {{nullptr, elements, signature.dtype}, {nullptr, elements, signature.dtype}});
      }
    }
  }
  if (pieces.empty()) return;
  const Buffer whole = adjacent(pieces);
  if (whole.data) return reduce_in_place(bucket[0], whole);
  if (pieces.size() == 1 && pieces[0].input.data) return reduce_one(bucket[0], pieces[0]);
  reduce_packed(bucket[0], pieces, count);
}

void BucketRunner::reduce_in_place(const Member& member, Buffer whole) {
  const Signature& signature = member.report->signature;
  if (signature.prescale != 1) scale(whole, signature.prescale, whole.data);
  communicator_.all_reduce(
      whole, signature.op,
      {.name = member.report->name, .compression = comm::Codec::parse(signature.compression)});
  if (signature.postscale != 1) scale(whole, signature.postscale, whole.data);
}

void BucketRunner::reduce_one(const Member& member, const Piece& piece) {
  const Signature& signature = member.report->signature;
  if (signature.prescale != 1) {
    scale(piece.input, signature.prescale, piece.output.data);
    copied_bytes_ += static_cast<std::int64_t>(piece.input.bytes());
  }
  communicator_.all_reduce(
      signature.prescale != 1 ? ConstBuffer(piece.output) : piece.input, piece.output, signature.op,
      {.name = member.report->name, .compression = comm::Codec::parse(signature.compression)});
  if (signature.postscale != 1) scale(piece.output, signature.postscale, piece.output.data);
}

void BucketRunner::reduce_packed(const Member& member, const std::vector<Piece>& pieces,
                                 std::int64_t count) {
  const Signature& signature = member.report->signature;
  const std::size_t size = size_of(signature.dtype);
  auto* const base = static_cast<std::byte*>(memory(static_cast<std::size_t>(count) * size));
  const std::int64_t packing = now_ns();
  std::byte* at = base;
  for (const auto& [input, output] : pieces) {
    if (!input.data) {
      fill_identity({at, input.count, input.dtype}, signature.op);
    } else if (signature.prescale != 1) {
      scale(input, signature.prescale, at);
    } else {
      copy(at, input.data, input.bytes());
    }
    at += input.bytes();
  }
  const std::int64_t packed = now_ns();
  communicator_.all_reduce(
      Buffer{base, count, signature.dtype}, signature.op,
      {.name = member.report->name, .compression = comm::Codec::parse(signature.compression)});
  const std::int64_t reduced = now_ns();
  at = base;
  for (const auto& [input, output] : pieces) {
    if (output.data && signature.postscale != 1) {
      scale({at, output.count, output.dtype}, signature.postscale, output.data);
    } else if (output.data) {
      copy(output.data, at, output.bytes());
    }
    at += output.bytes();
  }
  copied_bytes_ += 2 * (at - base);
  timeline_.add(Timeline::Row::kReduction, "pack", member.report->name, packing, packed);
  timeline_.add(Timeline::Row::kReduction, "reduce", member.report->name, packed, reduced);
  timeline_.add(Timeline::Row::kReduction, "unpack", member.report->name, reduced, now_ns());
}

void BucketRunner::broadcast(const Member& member) {
  for (const auto& [input, output] : member.call->tensors) {
    if (communicator_.rank() == member.call->root) copy(output.data, input.data, input.bytes());
    communicator_.broadcast(output, member.call->root, {member.report->name});
  }
}

// First exchanges the number of rows of each rank, with an all_gather of one number per tensor.
void BucketRunner::all_gather(const Member& member) {
  const Signature& signature = member.report->signature;
  const auto size = static_cast<std::size_t>(communicator_.size());
  const std::size_t tensors = signature.counts.size();
  std::vector<std::int64_t> mine(tensors), all(tensors * size);
  if (member.call) mine = member.call->rows;
  communicator_.all_gather(ConstBuffer::of(std::span<const std::int64_t>(mine)),
                           Buffer::of(std::span(all)), {}, {member.report->name});
  for (std::size_t t = 0; t < tensors; ++t) {
    std::vector<std::int64_t> rows(size), counts(size);
    for (std::size_t r = 0; r < size; ++r) {
      rows[r] = all[r * tensors + t];
      counts[r] = rows[r] * signature.counts[t];
    }
    Buffer output{nullptr, std::accumulate(counts.begin(), counts.end(), std::int64_t{0}),
                  signature.dtype};
    auto memory =
        std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(output.bytes(), 1));
    output.data = memory.get();
    const ConstBuffer input =
        member.call ? member.call->tensors[t].input : ConstBuffer{nullptr, 0, signature.dtype};
    communicator_.all_gather(input, output, counts, {member.report->name});
    if (!member.gathered) continue;
    member.gathered->rows.push_back(std::move(rows));
    member.gathered->memory.push_back(std::move(memory));
  }
}

void BucketRunner::all_to_all(const Member& member) {
  const Signature& signature = member.report->signature;
  const auto size = static_cast<std::size_t>(communicator_.size());
  std::vector<std::int64_t> rows(size), send(size), receive(size);
  communicator_.all_to_all(ConstBuffer::of(std::span<const std::int64_t>(member.call->rows)),
                           Buffer::of(std::span(rows)), {}, {}, {member.report->name});
  for (std::size_t r = 0; r < size; ++r) {
    send[r] = member.call->rows[r] * signature.counts[0];
    receive[r] = rows[r] * signature.counts[0];
  }
  Buffer output{nullptr, std::accumulate(receive.begin(), receive.end(), std::int64_t{0}),
                signature.dtype};
  auto memory =
      std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(output.bytes(), 1));
  output.data = memory.get();
  communicator_.all_to_all(member.call->tensors[0].input, output, send, receive,
                           {member.report->name});
  member.gathered->rows.push_back(std::move(rows));
  member.gathered->memory.push_back(std::move(memory));
}

void BucketRunner::reduce_scatter(const Member& member) {
  const Call& call = *member.call;
  const int size = communicator_.size();
  for (std::size_t t = 0; t < call.tensors.size(); ++t) {
    const auto& [input, output] = call.tensors[t];
    std::vector<std::int64_t> counts;
    for (int r = 0; r < size; ++r)
      counts.push_back(rows_of_rank(call.rows[t], r, size) * call.row_elements[t]);
    ConstBuffer source = input;
    if (call.prescale != 1) {
      void* const scaled = memory(std::max<std::size_t>(input.bytes(), 1));
      scale(input, call.prescale, scaled);
      source.data = scaled;
    }
    communicator_.reduce_scatter(source, output, call.op, counts, {member.report->name});
    if (call.postscale != 1) scale(output, call.postscale, output.data);
  }
}

// Recursive doubling: pairs at distance 1, 2, 4, ... exchange their full vectors and combine them; both get the same
// result. Ranks beyond the largest power of two send their vectors to a partner first and receive the result at the
// end.
void BucketRunner::adasum(const Member& member) {
  const int rank = communicator_.rank(), size = communicator_.size();
  int paired = 1;
  while (2 * paired <= size) paired *= 2;
  for (const auto& [input, output] : member.call->tensors) {
    scale(input, member.call->prescale, output.data);
    std::vector<std::byte> other(output.bytes());
    const Buffer theirs{other.data(), output.count, output.dtype};
    if (rank >= paired) {
      communicator_.send(output, rank - paired);
      communicator_.receive(output, rank - paired);
    } else {
      if (rank + paired < size) {
        communicator_.receive(theirs, rank + paired);
        adasum_pair(output, other.data(), true);
      }
      for (int distance = 1; distance < paired; distance *= 2) {
        const int peer = rank ^ distance;
        const comm::Work sent = communicator_.send_async(output, peer);
        communicator_.receive(theirs, peer);
        sent.wait();
        adasum_pair(output, other.data(), rank < peer);
      }
      if (rank + paired < size) communicator_.send(output, rank + paired);
    }
    scale(output, member.call->postscale, output.data);
  }
}

}  // namespace tutti::fusion
