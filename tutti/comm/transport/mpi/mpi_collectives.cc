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

// MPI does not allow its buffers to overlap, not even empty ones. The exception, MPI_IN_PLACE, would have to be used by
// all members.
bool may_alias(const void* piece, std::size_t piece_bytes, const void* whole, std::size_t bytes) {
  const auto* p = static_cast<const std::byte*>(piece);
  const auto* w = static_cast<const std::byte*>(whole);
  return std::less<>()(p, w + bytes + 1) && std::less<>()(w, p + piece_bytes + 1);
}

// A collective in flight on this rank; owns the memory that MPI reads and writes until it completes.
class RunningCollective : public Transfer {
 public:
  RunningCollective(MPI_Comm group, DType dtype, ReduceOp op,
                    std::shared_ptr<MpiCancelState> cancel_state)
      : group_(group),
        type_(mpi_type(dtype)),
        op_(mpi_op(op)),
        width_(size_of(dtype)),
        cancel_state_(std::move(cancel_state)) {}
  RunningCollective(const RunningCollective&) = delete;
  RunningCollective& operator=(const RunningCollective&) = delete;
  ~RunningCollective() override {
    if (completed_ == requests_.size()) return;
    cancel_state_->has_abandoned = true;
    new Memory(std::move(memory_));  // leaked: MPI may still access it
  }

  Result all_reduce(void* output, std::int64_t count) {
    constexpr std::int64_t kMostElements = 1 << 27;
    Result started = Result::ok();
    for (std::int64_t done = 0; done < count && started; done += kMostElements) {
      void* const data = static_cast<std::byte*>(output) + static_cast<std::size_t>(done) * width_;
      const auto now = static_cast<int>(std::min(kMostElements, count - done));
      started =
          mpi_result(MPI_Iallreduce(MPI_IN_PLACE, data, now, type_, op_, group_, add_request()),
                     "MPI_Iallreduce");
    }
    return started;
  }

  Result reduce_scatter(const void* input, void* output, std::span<const std::int64_t> counts) {
    set_pieces(counts);
    const std::size_t mine = static_cast<std::size_t>(memory_.counts[me_]) * width_;
    if (may_alias(output, mine, input, whole_bytes_)) {
      memory_.detour.resize(mine + 1);
      copy_back_ = output;
    }
    void* const target = copy_back_ ? memory_.detour.data() : output;
    return mpi_result(MPI_Ireduce_scatter(input, target, memory_.counts.data(), type_, op_, group_,
                                          add_request()),
                      "MPI_Ireduce_scatter");
  }

  Result all_gather(const void* input, void* output, std::span<const std::int64_t> counts) {
    set_pieces(counts);
    const std::size_t mine = static_cast<std::size_t>(memory_.counts[me_]) * width_;
    if (may_alias(input, mine, output, whole_bytes_)) {
      memory_.detour.resize(mine + 1);
      if (mine > 0) std::memcpy(memory_.detour.data(), input, mine);
      input = memory_.detour.data();
    }
    return mpi_result(
        MPI_Iallgatherv(input, memory_.counts[me_], type_, output, memory_.counts.data(),
                        memory_.offsets.data(), type_, group_, add_request()),
        "MPI_Iallgatherv");
  }

  Result test(bool* finished) override {
    const auto lock = MpiCalls::guard();
    for (; completed_ < requests_.size(); ++completed_) {
      int flag = 0;
      Result outcome = mpi_result(MPI_Test(&requests_[completed_], &flag, MPI_STATUS_IGNORE),
                                  "a collective of MPI");
      *finished = false;
      if (!outcome || !flag) return outcome;
    }
    const std::size_t bytes = memory_.detour.empty() ? 0 : memory_.detour.size() - 1;
    if (copy_back_ && bytes > 0) std::memcpy(copy_back_, memory_.detour.data(), bytes);
    copy_back_ = nullptr;
    *finished = true;
    return Result::ok();
  }

 private:
  struct Memory {
    std::vector<int> counts, offsets;
    std::vector<std::byte> detour;
  };
  void set_pieces(std::span<const std::int64_t> counts) {
    MPI_Comm_rank(group_, &me_);
    memory_.counts.assign(counts.begin(), counts.end());
    memory_.offsets.resize(counts.size());
    std::exclusive_scan(memory_.counts.begin(), memory_.counts.end(), memory_.offsets.begin(), 0);
    whole_bytes_ =
        static_cast<std::size_t>(memory_.offsets.back() + memory_.counts.back()) * width_;
  }
  MPI_Request* add_request() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  const MPI_Comm group_;
  const MPI_Datatype type_;
  const MPI_Op op_;
  const std::size_t width_;
  const std::shared_ptr<MpiCancelState> cancel_state_;
  int me_ = 0;
  std::size_t whole_bytes_ = 0;
  Memory memory_;
  void* copy_back_ = nullptr;
  std::vector<MPI_Request> requests_;
  std::size_t completed_ = 0;
};

}  // namespace

bool MpiCollectives::supports(Collective collective, DType dtype, ReduceOp op) const {
  if (mpi_type(dtype) == MPI_DATATYPE_NULL) return false;
  if (collective == Collective::kAllGather) return true;
  return mpi_op(op) != MPI_OP_NULL &&
         (collective == Collective::kAllReduce || collective == Collective::kReduceScatter);
}

Result MpiCollectives::start(Collective collective, std::span<const int> group, const void* input,
                             void* output, std::span<const std::int64_t> counts, DType dtype,
                             ReduceOp op, std::unique_ptr<Transfer>* running) {
  if (!supports(collective, dtype, op)) {
    return Result::failure(
        ErrorKind::kConfig, "DDL-6-16",
        fmt::format("MPI does not support this collective for {} and {}: use another mode than m.",
                    name_of(dtype), name_of(op)));
  }
  if (collective != Collective::kAllReduce &&
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) > INT_MAX) {
    return Result::failure(ErrorKind::kConfig, "DDL-6-17",
                           "MPI counts at most 2147483647 elements in one collective: split it, or "
                           "use another mode than m.");
  }
  const auto lock = MpiCalls::guard();
  MPI_Comm communicator = MPI_COMM_NULL;
  if (Result found = find_group(group, &communicator); !found) return found;
  auto call = std::make_unique<RunningCollective>(communicator, dtype, op, cancel_state_);
  Result started = collective == Collective::kAllReduce ? call->all_reduce(output, counts[0])
                   : collective == Collective::kReduceScatter
                       ? call->reduce_scatter(input, output, counts)
                       : call->all_gather(input, output, counts);
  *running = std::move(call);
  return started;
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
  // The tag separates groups that are created concurrently; each rank is in one call at a time.
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
