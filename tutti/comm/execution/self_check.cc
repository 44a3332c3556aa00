#include "tutti/comm/execution/self_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tutti/comm/kernels/kernels.h"
#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

using plan::Collective;

constexpr std::int64_t kPieceElements = 64 * 1024;
constexpr std::uint64_t kReportedInFull = 3;  // operations with something not finite

std::int64_t elements_of_vector(const Operation& operation) {
  if (operation.collective != Collective::kReduceScatter) return operation.count;
  return std::accumulate(operation.counts.begin(), operation.counts.end(), std::int64_t{0});
}

// Position of this rank's output in the vector.
struct Part {
  std::int64_t begin, count;
};
Part output_of(const Operation& operation, int rank) {
  if (operation.collective == Collective::kAllReduce) return {0, operation.count};
  if (operation.collective == Collective::kReduce) {
    return {0, rank == operation.root ? operation.count : 0};
  }
  const auto first = operation.counts.begin();
  return {std::accumulate(first, first + rank, std::int64_t{0}), operation.counts[rank]};
}

double value_at(DType dtype, const std::byte* data, std::int64_t index) {
  const auto get = [&]<class T>(T) {
    T value;
    std::memcpy(&value, data + static_cast<std::size_t>(index) * sizeof(T), sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::kF32: return get(float{});
    case DType::kF64: return get(double{});
    case DType::kF16: return to_float(get(Half{}));
    case DType::kBF16: return to_float(get(BFloat16{}));
    case DType::kI8: return get(std::int8_t{});
    case DType::kU8: return get(std::uint8_t{});
    case DType::kI32: return get(std::int32_t{});
    case DType::kI64: return static_cast<double>(get(std::int64_t{}));
  }
  return 0;
}

// Largest change by one rounding, relative to the magnitude of the operands.
double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 0x1p-53;
    case DType::kF32: return 0x1p-24;
    case DType::kF16: return 0x1p-11;
    case DType::kBF16: return 0x1p-8;
    default: return 0;
  }
}

}  // namespace

SelfCheck::SelfCheck(int rank, int size, const topo::Layout& layout, Run run)
    : rank_(rank), size_(size), layout_(layout), run_(std::move(run)) {}

bool SelfCheck::covers(const Operation& operation) {
  return operation.collective == Collective::kAllReduce ||
         operation.collective == Collective::kReduce ||
         operation.collective == Collective::kReduceScatter;
}

Result SelfCheck::perform(const Operation& operation) {
  const std::size_t bytes =
      static_cast<std::size_t>(elements_of_vector(operation)) * size_of(operation.dtype);
  const auto* data = static_cast<const std::byte*>(operation.input);
  const std::vector<std::byte> input(data, data + bytes);  // an in-place operation overwrites it
  return run_(operation) << [&] { return compare(operation, input); }
                         << [&] { return trace_not_finite(operation, input); };
}

Result SelfCheck::compare(const Operation& operation, const std::vector<std::byte>& input) const {
  const std::size_t width = size_of(operation.dtype);
  const std::int64_t total = elements_of_vector(operation);
  std::vector<std::byte> gathered;
  for (std::int64_t begin = 0; begin < total; begin += kPieceElements) {
    const std::int64_t count = std::min(kPieceElements, total - begin);
    gathered.resize(static_cast<std::size_t>(count * size_) * width);
    Operation gather;
    gather.collective = Collective::kAllGather;
    gather.dtype = operation.dtype;
    gather.input = input.data() + static_cast<std::size_t>(begin) * width;
    gather.output = gathered.data();
    gather.counts.assign(static_cast<std::size_t>(size_), count);
    gather.name = "self-check";
    Result outcome =
        run_(gather) << [&] { return compare_piece(operation, gathered, begin, count); };
    if (!outcome) return outcome;
  }
  return Result::ok();
}

Result SelfCheck::compare_piece(const Operation& operation, const std::vector<std::byte>& gathered,
                                std::int64_t begin, std::int64_t count) const {
  const std::size_t width = size_of(operation.dtype);
  std::vector<std::byte> reference(static_cast<std::size_t>(count) * width);
  std::vector<const void*> sources;
  for (int r = 0; r < size_; ++r) {
    sources.push_back(gathered.data() + static_cast<std::size_t>(r * count) * width);
  }
  void* targets[1] = {reference.data()};
  reduce(operation.dtype, operation.op, sources, targets, count, size_);

  const Part part = output_of(operation, rank_);
  const double rounding = rounding_of(operation.dtype) * 2 * size_;
  const auto* output = static_cast<const std::byte*>(operation.output);
  for (std::int64_t i = std::max(begin, part.begin);
       i < std::min(begin + count, part.begin + part.count); ++i) {
    const double want = value_at(operation.dtype, reference.data(), i - begin);
    const double got = value_at(operation.dtype, output, i - part.begin);
    double magnitude = std::abs(want);
    for (const void* source : sources) {
      magnitude +=
          std::abs(value_at(operation.dtype, static_cast<const std::byte*>(source), i - begin));
    }
    const bool is_equal = got == want || (std::isnan(got) && std::isnan(want)) ||
                          std::abs(got - want) <= rounding * magnitude || !std::isfinite(magnitude);
    if (is_equal) continue;
    return Result::failure(
        ErrorKind::kComm, "DDL-4-09",
        fmt::format("Self-check: element {} of '{}' ({}) is {} on rank {}, the reference in rank "
                    "order is {}. Report "
                    "this with the output of `tutti info`; another mode may avoid it.",
                    i, operation.name, name_of(operation.dtype), got, rank_, want));
  }
  return Result::ok();
}

Result SelfCheck::trace_not_finite(const Operation& operation,
                                   const std::vector<std::byte>& input) {
  if (!is_floating(operation.dtype)) return Result::ok();
  const std::int64_t mine =
      find_not_finite(operation.dtype, input.data(), elements_of_vector(operation));
  std::vector<std::int64_t> first(static_cast<std::size_t>(size_));
  Operation gather;
  gather.collective = Collective::kAllGather;
  gather.dtype = DType::kI64;
  gather.input = &mine;
  gather.output = first.data();
  gather.counts.assign(static_cast<std::size_t>(size_), 1);
  gather.name = "self-check";
  Result outcome = run_(gather);
  const auto is_there = [](std::int64_t element) { return element >= 0; };
  if (!outcome || std::none_of(first.begin(), first.end(), is_there)) return outcome;
  ++not_finite_;
  if (not_finite_ > kReportedInFull && !std::has_single_bit(not_finite_)) return outcome;
  for (int r = 0; r < size_; ++r) {
    if (!is_there(first[r])) continue;
    log::warning(
        "DDL-4-10 rank {} on {} passed NaN or Inf to {}{}, first at element {}.{}", r,
        topo::host_name_of(layout_, r), name_of(operation.collective),
        operation.name.empty() ? "" : fmt::format(" '{}'", operation.name), first[r],
        not_finite_ < kReportedInFull
            ? ""
            : fmt::format(" {} operations were affected so far; most of the next are not reported.",
                          not_finite_));
  }
  return outcome;
}

}  // namespace tutti::comm
