#include "tutti/comm/transport/mpi/mpi_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <functional>
#include <numeric>

namespace tutti::comm {
namespace {

using plan::Collective;

MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return MPI_FLOAT;
    case DType::kF64: return MPI_DOUBLE;
    case DType::kI8: return MPI_INT8_T;
    case DType::kU8: return MPI_UINT8_T;
    case DType::kI32: return MPI_INT32_T;
    case DType::kI64: return MPI_INT64_T;
    default: return MPI_DATATYPE_NULL;
  }
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return MPI_SUM;
    case ReduceOp::kMin: return MPI_MIN;
    case ReduceOp::kMax: return MPI_MAX;
    case ReduceOp::kProduct: return MPI_PROD;
    default: return MPI_OP_NULL;
  }
}

// One member's view of a call, in MPI's terms.
struct Pieces {
  Pieces(std::span<const std::int64_t> elements, int me, std::size_t element_bytes)
      : counts(elements.begin(), elements.end()), offsets(counts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    my_count = counts[me];
    my_bytes = static_cast<std::size_t>(my_count) * element_bytes;
    my_offset = static_cast<std::size_t>(offsets[me]) * element_bytes;
    bytes = static_cast<std::size_t>(offsets.back() + counts.back()) * element_bytes;
  }
  std::vector<int> counts, offsets;
  int my_count = 0;
  std::size_t my_bytes = 0, my_offset = 0, bytes = 0;
};

// MPI allows no overlap of its buffers (but for MPI_IN_PLACE, which all members would have to know
// of), not even of empty ones.
bool may_alias(const void* piece, std::size_t piece_bytes, const void* whole, std::size_t bytes) {
  const auto* p = static_cast<const std::byte*>(piece);
  const auto* w = static_cast<const std::byte*>(whole);
  return std::less<>()(p, w + bytes + 1) && std::less<>()(w, p + piece_bytes + 1);
}

Result all_reduce(MPI_Comm group, void* output, std::int64_t count, DType dtype, ReduceOp op) {
  constexpr std::int64_t kMostElements = 1 << 27;
  for (std::int64_t done = 0; done < count; done += kMostElements) {
    const auto now = static_cast<int>(std::min(kMostElements, count - done));
    void* const data =
        static_cast<std::byte*>(output) + static_cast<std::size_t>(done) * size_of(dtype);
    const int code = MPI_Allreduce(MPI_IN_PLACE, data, now, mpi_type(dtype), mpi_op(op), group);
    if (code != MPI_SUCCESS) return mpi_result(code, "MPI_Allreduce");
  }
  return Result::ok();
}

Result reduce_scatter(MPI_Comm group, const void* input, void* output, const Pieces& pieces,
                      DType dtype, ReduceOp op) {
  const bool takes_detour = may_alias(output, pieces.my_bytes, input, pieces.bytes);
  std::vector<std::byte> detour(takes_detour ? pieces.my_bytes + 1 : 0);
  void* const target = takes_detour ? detour.data() : output;
  const int code =
      MPI_Reduce_scatter(input, target, pieces.counts.data(), mpi_type(dtype), mpi_op(op), group);
  if (takes_detour) std::memcpy(output, target, pieces.my_bytes);
  return mpi_result(code, "MPI_Reduce_scatter");
}

Result all_gather(MPI_Comm group, const void* input, void* output, const Pieces& pieces,
                  DType dtype) {
  const bool takes_detour = may_alias(input, pieces.my_bytes, output, pieces.bytes);
  std::vector<std::byte> detour(takes_detour ? pieces.my_bytes + 1 : 0);
  if (takes_detour) std::memcpy(detour.data(), input, pieces.my_bytes);
  const int code =
      MPI_Allgatherv(takes_detour ? detour.data() : input, pieces.my_count, mpi_type(dtype), output,
                     pieces.counts.data(), pieces.offsets.data(), mpi_type(dtype), group);
  return mpi_result(code, "MPI_Allgatherv");
}

}  // namespace

bool MpiCollectives::supports(Collective collective, DType dtype, ReduceOp op) const {
  if (mpi_type(dtype) == MPI_DATATYPE_NULL) return false;
  if (collective == Collective::kAllGather) return true;
  return mpi_op(op) != MPI_OP_NULL &&
         (collective == Collective::kAllReduce || collective == Collective::kReduceScatter);
}

Result MpiCollectives::run(Collective collective, std::span<const int> group, const void* input,
                           void* output, std::span<const std::int64_t> counts, DType dtype,
                           ReduceOp op) {
  if (!supports(collective, dtype, op)) {
    return Result::failure(ErrorKind::kConfig, "DDL-6-16",
                           fmt::format("MPI has no such collective for {} and {}: choose another "
                                       "mode than m.",
                                       name_of(dtype), name_of(op)));
  }
  const auto lock = MpiCalls::guard();
  MPI_Comm communicator = MPI_COMM_NULL;
  if (Result found = find_group(group, &communicator); !found) return found;
  if (collective == Collective::kAllReduce) {
    return all_reduce(communicator, output, counts[0], dtype, op);
  }
  if (std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) > INT_MAX) {
    return Result::failure(ErrorKind::kConfig, "DDL-6-17",
                           "MPI counts at most 2147483647 elements in one collective: cut it into "
                           "smaller ones or choose another mode than m.");
  }
  int me = 0;
  MPI_Comm_rank(communicator, &me);
  const Pieces pieces(counts, me, size_of(dtype));
  return collective == Collective::kReduceScatter
             ? reduce_scatter(communicator, input, output, pieces, dtype, op)
             : all_gather(communicator, input, output, pieces, dtype);
}

Result MpiCollectives::find_group(std::span<const int> group, MPI_Comm* communicator) {
  const std::vector<int> members(group.begin(), group.end());
  if (const auto found = groups_.find(members); found != groups_.end()) {
    *communicator = found->second;
    return Result::ok();
  }
  MPI_Group everyone, some;
  MPI_Comm_group(communicator_, &everyone);
  MPI_Group_incl(everyone, static_cast<int>(members.size()), members.data(), &some);
  // The tag keeps apart groups that are made at the same time; each rank is in one call at a time.
  const int code = MPI_Comm_create_group(communicator_, some, members.front(), communicator);
  MPI_Group_free(&some);
  MPI_Group_free(&everyone);
  if (code != MPI_SUCCESS) return mpi_result(code, "MPI_Comm_create_group");
  MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
  groups_.emplace(members, *communicator);
  return Result::ok();
}

void MpiCollectives::free_groups() {
  const auto lock = MpiCalls::guard();
  for (auto& [members, communicator] : groups_) MPI_Comm_free(&communicator);
  groups_.clear();
}

}  // namespace tutti::comm
