#include "tutti/comm/execution/wide_average.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

using plan::Collective;

constexpr std::int64_t kChunkElements = 512 * 1024;

// Memory of the arena, freed by the destructor.
class Scratch {
 public:
  Scratch(Arena& arena, std::size_t bytes) : arena_(arena), data_(arena.allocate(bytes)) {}
  ~Scratch() { arena_.free(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Arena& arena_;
  void* data_;
};

// The wide form of an element type: `count` elements become `parts` x `count` wide elements, first the sums or
// quotients, then the remainders.
struct Form {
  DType narrow, wide;
  std::int64_t parts;
  ReduceOp op;

  static Form of(DType dtype) {
    if (dtype == DType::kI64) return {dtype, DType::kI64, 2, ReduceOp::kSum};
    return {dtype, dtype == DType::kI32 ? DType::kI64 : DType::kI32, 1, ReduceOp::kAverage};
  }
  std::size_t bytes(std::int64_t count) const {
    return static_cast<std::size_t>(count * parts) * size_of(wide);
  }
  std::size_t narrow_bytes(std::int64_t count) const {
    return static_cast<std::size_t>(count) * size_of(narrow);
  }
};

template <class To, class From>
void convert_integers(const void* source, void* target, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, static_cast<const From*>(source) + i, sizeof value);
    const To converted = static_cast<To>(value);
    std::memcpy(static_cast<To*>(target) + i, &converted, sizeof converted);
  }
}

// Rounds down, so remainders are from 0 to ranks - 1.
void divide(const void* source, std::int64_t* target, std::int64_t count, std::int64_t ranks) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t value;
    std::memcpy(&value, static_cast<const std::int64_t*>(source) + i, sizeof value);
    const std::int64_t remainder = (value % ranks + ranks) % ranks;
    target[i] = value / ranks - (value % ranks < 0 ? 1 : 0);
    target[count + i] = remainder;
  }
}

// The sum of quotients may overflow i64; the addition modulo 2^64 compensates it.
void join(const std::int64_t* source, void* target, std::int64_t count, std::int64_t ranks) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t remainders = source[count + i];
    auto average = static_cast<std::int64_t>(static_cast<std::uint64_t>(source[i]) +
                                             static_cast<std::uint64_t>(remainders / ranks));
    if (average < 0 && remainders % ranks != 0) ++average;
    std::memcpy(static_cast<std::int64_t*>(target) + i, &average, sizeof average);
  }
}

void widen(const Form& form, const void* source, void* target, std::int64_t count, int ranks) {
  switch (form.narrow) {
    case DType::kI8: return convert_integers<std::int32_t, std::int8_t>(source, target, count);
    case DType::kU8: return convert_integers<std::int32_t, std::uint8_t>(source, target, count);
    case DType::kI32: return convert_integers<std::int64_t, std::int32_t>(source, target, count);
    default: return divide(source, static_cast<std::int64_t*>(target), count, ranks);
  }
}

void narrow(const Form& form, const void* source, void* target, std::int64_t count, int ranks) {
  switch (form.narrow) {
    case DType::kI8: return convert_integers<std::int8_t, std::int32_t>(source, target, count);
    case DType::kU8: return convert_integers<std::uint8_t, std::int32_t>(source, target, count);
    case DType::kI32: return convert_integers<std::int32_t, std::int64_t>(source, target, count);
    default: return join(static_cast<const std::int64_t*>(source), target, count, ranks);
  }
}

Operation wide_form(const Operation& operation, const Form& form, const void* input, void* output) {
  Operation wide = operation;
  wide.dtype = form.wide;
  wide.op = form.op;
  wide.input = input;
  wide.output = output;
  return wide;
}

}  // namespace

WideAverage::WideAverage(Arena& arena, int rank, int ranks, Run run)
    : arena_(arena), rank_(rank), ranks_(ranks), run_(std::move(run)) {}

bool WideAverage::covers(const Operation& operation) {
  const bool reduces = operation.collective == Collective::kAllReduce ||
                       operation.collective == Collective::kReduce ||
                       operation.collective == Collective::kReduceScatter;
  return reduces && operation.op == ReduceOp::kAverage && !is_floating(operation.dtype);
}

Result WideAverage::perform(const Operation& operation) const {
  return operation.collective == Collective::kReduceScatter ? reduce_scatter(operation)
                                                            : reduce_whole(operation);
}

Result WideAverage::reduce_whole(const Operation& operation) const {
  const Form form = Form::of(operation.dtype);
  const Scratch memory(arena_, form.bytes(std::min(operation.count, kChunkElements)));
  const bool has_output = operation.collective == Collective::kAllReduce || rank_ == operation.root;
  const auto* input = static_cast<const std::byte*>(operation.input);
  auto* output = static_cast<std::byte*>(operation.output);
  std::int64_t begin = 0;
  do {
    const std::int64_t count = std::min(kChunkElements, operation.count - begin);
    const std::size_t offset = form.narrow_bytes(begin);
    widen(form, input + offset, memory.data(), count, ranks_);
    Operation wide = wide_form(operation, form, memory.data(), memory.data());
    wide.count = count * form.parts;
    Result outcome = run_(wide);
    if (!outcome) return outcome;
    if (has_output) narrow(form, memory.data(), output + offset, count, ranks_);
    begin += count;
  } while (begin < operation.count);
  return Result::ok();
}

// Every chunk contains a part of each rank's piece.
Result WideAverage::reduce_scatter(const Operation& operation) const {
  const Form form = Form::of(operation.dtype);
  const std::vector<std::int64_t>& counts = operation.counts;
  const std::int64_t longest = *std::max_element(counts.begin(), counts.end());
  const std::int64_t chunk = std::min(longest, std::max<std::int64_t>(1, kChunkElements / ranks_));
  const Scratch input(arena_, form.bytes(chunk * ranks_)), output(arena_, form.bytes(chunk));
  const auto* from = static_cast<const std::byte*>(operation.input);
  auto* to = static_cast<std::byte*>(operation.output);
  std::int64_t begin = 0;
  do {
    Operation wide = wide_form(operation, form, input.data(), output.data());
    std::int64_t piece_begin = 0, filled = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      const std::int64_t count = std::clamp<std::int64_t>(counts[rank] - begin, 0, chunk);
      widen(form, from + form.narrow_bytes(piece_begin + begin), input.data() + form.bytes(filled),
            count, ranks_);
      wide.counts[rank] = count * form.parts;
      piece_begin += counts[rank];
      filled += count;
    }
    Result outcome = run_(wide);
    if (!outcome) return outcome;
    narrow(form, output.data(), to + form.narrow_bytes(begin), wide.counts[rank_] / form.parts,
           ranks_);
    begin += chunk;
  } while (begin < longest);
  return Result::ok();
}

}  // namespace tutti::comm
