#include "tutti/comm/transport/nccl/nccl_collectives.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

namespace tutti::comm {
namespace {

using plan::Collective;

Result nccl_result(ncclResult_t code, const char* call) {
  if (code == ncclSuccess) return Result::ok();
  return Result::failure(ErrorKind::kComm, "DDL-6-31",
                         fmt::format("{} failed: {}. Set NCCL_DEBUG=INFO for details.", call,
                                     ncclGetErrorString(code)));
}

Result cuda_result(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return Result::ok();
  return Result::failure(ErrorKind::kComm, "DDL-6-32",
                         fmt::format("{} failed: {}. Check the devices with nvidia-smi.", call,
                                     cudaGetErrorString(code)));
}

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return ncclFloat32;
    case DType::kF64: return ncclFloat64;
    case DType::kF16: return ncclFloat16;
    case DType::kBF16: return ncclBfloat16;
    case DType::kI8: return ncclInt8;
    case DType::kU8: return ncclUint8;
    case DType::kI32: return ncclInt32;
    default: return ncclInt64;
  }
}

ncclRedOp_t nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAverage: return ncclAvg;
    case ReduceOp::kMin: return ncclMin;
    case ReduceOp::kMax: return ncclMax;
    case ReduceOp::kProduct: return ncclProd;
    default: return ncclSum;
  }
}

class NcclCollectives : public VendorCollectives {
 public:
  NcclCollectives(Transport& transport, int device, const std::vector<std::vector<int>>& groups);
  ~NcclCollectives() override {
    for (auto& [members, communicator] : communicators_) ncclCommAbort(communicator);
    if (stream_) cudaStreamDestroy(stream_);
  }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  bool supports(Collective collective, DType, ReduceOp) const override {
    return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
           collective == Collective::kAllGather;
  }
  // Blocks until the device has finished.
  Result start(Collective collective, std::span<const int> group, const void* input, void* output,
               std::span<const std::int64_t> counts, DType dtype, ReduceOp op,
               std::unique_ptr<Transfer>* running) override;

 private:
  struct Call {
    ncclComm_t communicator;
    std::size_t me;  // position in the group
    const void* input;
    void* output;
    std::span<const std::int64_t> counts;
    DType dtype;
    ReduceOp op;
  };
  ncclResult_t reduce_scatter(const Call& call);
  ncclResult_t all_gather(const Call& call);
  Result wait(ncclComm_t communicator);

  const int rank_;
  const int device_;
  cudaStream_t stream_ = nullptr;
  std::map<std::vector<int>, ncclComm_t> communicators_;
};

// The first member of each group creates its unique id; one exchange distributes all ids to all ranks.
NcclCollectives::NcclCollectives(Transport& transport, int device,
                                 const std::vector<std::vector<int>>& groups)
    : rank_(transport.rank()), device_(device) {
  cuda_result(cudaSetDevice(device_), "cudaSetDevice").throw_if_error();
  cuda_result(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate")
      .throw_if_error();
  std::string mine;
  for (const std::vector<int>& group : groups) {
    ncclUniqueId id{};
    if (group.front() == rank_)
      nccl_result(ncclGetUniqueId(&id), "ncclGetUniqueId").throw_if_error();
    mine.append(reinterpret_cast<const char*>(&id), sizeof id);
  }
  const std::vector<std::string> all = transport.exchange(mine);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto me = std::find(groups[i].begin(), groups[i].end(), rank_);
    if (me == groups[i].end()) continue;
    ncclUniqueId id;
    std::memcpy(&id, all[groups[i].front()].data() + i * sizeof id, sizeof id);
    ncclComm_t communicator = nullptr;
    nccl_result(ncclCommInitRank(&communicator, static_cast<int>(groups[i].size()), id,
                                 static_cast<int>(me - groups[i].begin())),
                "ncclCommInitRank")
        .throw_if_error();
    communicators_.emplace(groups[i], communicator);
  }
}

Result NcclCollectives::start(Collective collective, std::span<const int> group, const void* input,
                              void* output, std::span<const std::int64_t> counts, DType dtype,
                              ReduceOp op, std::unique_ptr<Transfer>* /*running*/) {
  const auto found = communicators_.find({group.begin(), group.end()});
  if (found == communicators_.end() || !supports(collective, dtype, op)) {
    return Result::failure(ErrorKind::kConfig, "DDL-6-33",
                           "NCCL was not started for this collective and group: list the group in "
                           "start_nccl.");
  }
  const auto me = std::find(group.begin(), group.end(), rank_) - group.begin();
  const Call call{found->second, static_cast<std::size_t>(me), input, output, counts, dtype, op};
  Result result = cuda_result(cudaSetDevice(device_), "cudaSetDevice");
  if (!result) return result;
  if (collective == Collective::kAllReduce) {
    result = nccl_result(ncclAllReduce(output, output, static_cast<std::size_t>(counts[0]),
                                       nccl_type(dtype), nccl_op(op), call.communicator, stream_),
                         "ncclAllReduce");
  } else if (collective == Collective::kReduceScatter) {
    result = nccl_result(reduce_scatter(call), "ncclReduceScatter");
  } else {
    result = nccl_result(all_gather(call), "ncclAllGather");
  }
  return std::move(result) << [&] { return wait(call.communicator); };
}

bool all_equal(std::span<const std::int64_t> counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

// ncclReduceScatter needs pieces of equal size. Uneven pieces use one ncclReduce each, to its owner, in one group
// launch.
ncclResult_t NcclCollectives::reduce_scatter(const Call& call) {
  const ncclDataType_t type = nccl_type(call.dtype);
  const ncclRedOp_t op = nccl_op(call.op);
  if (all_equal(call.counts)) {
    return ncclReduceScatter(call.input, call.output, static_cast<std::size_t>(call.counts[0]),
                             type, op, call.communicator, stream_);
  }
  ncclGroupStart();
  const auto* piece = static_cast<const std::byte*>(call.input);
  for (std::size_t owner = 0; owner < call.counts.size(); ++owner) {
    const auto count = static_cast<std::size_t>(call.counts[owner]);
    ncclReduce(piece, call.output, count, type, op, static_cast<int>(owner), call.communicator,
               stream_);
    piece += count * size_of(call.dtype);
  }
  return ncclGroupEnd();
}

ncclResult_t NcclCollectives::all_gather(const Call& call) {
  const ncclDataType_t type = nccl_type(call.dtype);
  if (all_equal(call.counts)) {
    return ncclAllGather(call.input, call.output, static_cast<std::size_t>(call.counts[0]), type,
                         call.communicator, stream_);
  }
  ncclGroupStart();
  auto* piece = static_cast<std::byte*>(call.output);
  for (std::size_t owner = 0; owner < call.counts.size(); ++owner) {
    const auto count = static_cast<std::size_t>(call.counts[owner]);
    ncclBroadcast(owner == call.me ? call.input : piece, piece, count, type,
                  static_cast<int>(owner), call.communicator, stream_);
    piece += count * size_of(call.dtype);
  }
  return ncclGroupEnd();
}

// Polls because the stream never finishes after a peer has died; ncclCommGetAsyncError reports that.
Result NcclCollectives::wait(ncclComm_t communicator) {
  cudaError_t code = cudaStreamQuery(stream_);
  for (int polls = 0; code == cudaErrorNotReady; ++polls) {
    ncclResult_t trouble = ncclSuccess;
    ncclCommGetAsyncError(communicator, &trouble);
    if (trouble != ncclSuccess) return nccl_result(trouble, "a collective of NCCL");
    if (polls > 1000) std::this_thread::sleep_for(std::chrono::microseconds(20));
    code = cudaStreamQuery(stream_);
  }
  return cuda_result(code, "cudaStreamQuery");
}

}  // namespace

bool has_nccl() {
  return true;
}

std::unique_ptr<VendorCollectives> start_nccl(Transport& transport, int device,
                                              const std::vector<std::vector<int>>& groups) {
  return std::make_unique<NcclCollectives>(transport, device, groups);
}

}  // namespace tutti::comm
