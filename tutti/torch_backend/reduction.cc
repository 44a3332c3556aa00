#include "tutti/torch_backend/reduction.h"

#include <ATen/ATen.h>

#include "tutti/torch_backend/compat.h"
#include "tutti/torch_backend/tensors.h"

namespace tutti::torch_backend {
namespace {

using Wanted = c10d::ReduceOp;

const char* name_of(Wanted::RedOpType op) {
  switch (op) {
    case Wanted::SUM: return "SUM";
    case Wanted::AVG: return "AVG";
    case Wanted::PRODUCT: return "PRODUCT";
    case Wanted::MIN: return "MIN";
    case Wanted::MAX: return "MAX";
    case Wanted::BAND: return "BAND";
    case Wanted::BOR: return "BOR";
    case Wanted::BXOR: return "BXOR";
    default: return "PREMUL_SUM";
  }
}

bool is_bitwise(Wanted::RedOpType op) {
  return op == Wanted::BAND || op == Wanted::BOR || op == Wanted::BXOR;
}

std::optional<ReduceOp> arithmetic(Wanted::RedOpType op) {
  switch (op) {
    case Wanted::SUM: return ReduceOp::kSum;
    case Wanted::AVG: return ReduceOp::kAverage;
    case Wanted::PRODUCT: return ReduceOp::kProduct;
    case Wanted::MIN: return ReduceOp::kMin;
    case Wanted::MAX: return ReduceOp::kMax;
    default: return std::nullopt;
  }
}

std::optional<ReduceOp> logical(Wanted::RedOpType op) {
  switch (op) {
    case Wanted::SUM:
    case Wanted::MAX:
    case Wanted::BOR: return ReduceOp::kMax;
    case Wanted::PRODUCT:
    case Wanted::MIN:
    case Wanted::BAND: return ReduceOp::kMin;
    case Wanted::BXOR: return ReduceOp::kSum;
    default: return std::nullopt;
  }
}

}  // namespace

Reduction::Reduction(at::ScalarType type, const c10d::ReduceOp& op)
    : type_(type), carrier_(type), wanted_(op.op_), factor_(factor_of(op)) {
  std::optional<ReduceOp> found;
  if (type == at::kBool) {
    carrier_ = at::kByte;
    found = logical(wanted_);
    is_parity_ = wanted_ == Wanted::BXOR;
  } else if (at::isComplexType(type)) {
    carrier_ = c10::toRealValueType(type);
    if (wanted_ == Wanted::SUM || wanted_ == Wanted::AVG) found = arithmetic(wanted_);
  } else if (is_bitwise(wanted_) && at::isIntegralType(type, false)) {
    reduces_bits_ = true;
    found = ReduceOp::kSum;
  } else if (factor_) {
    if (at::isFloatingType(type)) found = ReduceOp::kSum;
  } else {
    if (type == at::kShort) carrier_ = at::kInt;
    found = arithmetic(wanted_);
  }
  TORCH_CHECK(found && (reduces_bits_ || dtype_of(carrier_)), "the ddl backend has no ReduceOp.",
              name_of(wanted_), " of ", type);
  op_ = *found;
}

bool Reduction::compresses(const comm::Communicator* communicator, const at::Tensor& tensor) const {
  constexpr std::int64_t kLeast = 1024;  // below, latency dominates
  return communicator && communicator->layout().hosts.size() > 1 && type_ == at::kFloat &&
         tensor.numel() >= kLeast && (op_ == ReduceOp::kSum || op_ == ReduceOp::kAverage);
}

at::Tensor Reduction::scaled(const at::Tensor& tensor) const {
  return factor_ ? tensor.mul(*factor_) : tensor;
}

at::Tensor Reduction::carried(const at::Tensor& tensor) const {
  if (type_ == at::kBool) return tensor.view(at::kByte);
  if (at::isComplexType(type_)) return at::view_as_real(tensor);
  return tensor.to(carrier_);
}

void Reduction::store(const at::Tensor& carrier, const at::Tensor& target) const {
  if (is_parity_) carrier.bitwise_and_(1);
  if (!carrier.is_alias_of(target)) target.copy_(carrier);
}

// Bitwise reductions are rare and small, so the simplest algorithm is sufficient.
at::Tensor Reduction::reduced(comm::Communicator& communicator, const at::Tensor& tensor,
                              const comm::CallOptions& call) const {
  const at::Tensor all = at::empty({communicator.size(), tensor.numel()}, tensor.options());
  communicator.all_gather(elements_of(tensor), elements_of(all), {}, call);
  at::Tensor result = all[0];
  for (int rank = 1; rank < communicator.size(); ++rank) {
    if (wanted_ == Wanted::BAND) result.bitwise_and_(all[rank]);
    if (wanted_ == Wanted::BOR) result.bitwise_or_(all[rank]);
    if (wanted_ == Wanted::BXOR) result.bitwise_xor_(all[rank]);
  }
  return result;
}

void Reduction::all_reduce(comm::Communicator& communicator, at::Tensor tensor,
                           const comm::CallOptions& call) const {
  if (reduces_bits_) {
    tensor.view(-1).copy_(reduced(communicator, tensor, call));
    return;
  }
  const at::Tensor carrier = carried(scaled(tensor));
  communicator.all_reduce(elements_of(carrier), op_, call);
  store(carrier, tensor);
}

void Reduction::reduce(comm::Communicator& communicator, at::Tensor tensor, int root,
                       const comm::CallOptions& call) const {
  const bool is_root = communicator.rank() == root;
  if (reduces_bits_) {
    const at::Tensor result = reduced(communicator, tensor, call);
    if (is_root) tensor.view(-1).copy_(result);
    return;
  }
  const at::Tensor carrier = carried(scaled(tensor));
  const Buffer buffer = elements_of(carrier);
  communicator.reduce(buffer, is_root ? buffer : Buffer{nullptr, 0, buffer.dtype}, op_, root, call);
  if (is_root) store(carrier, tensor);
}

void Reduction::reduce_scatter(comm::Communicator& communicator, const at::Tensor& input,
                               at::Tensor output, const std::vector<std::int64_t>& counts,
                               const comm::CallOptions& call) const {
  if (reduces_bits_) {
    std::int64_t begin = 0;
    for (int rank = 0; rank < communicator.rank(); ++rank) begin += counts[rank];
    output.view(-1).copy_(reduced(communicator, input, call).narrow(0, begin, output.numel()));
    return;
  }
  const at::Tensor from = carried(scaled(input));
  const at::Tensor to = type_ == at::kShort ? at::empty_like(output, carrier_) : carried(output);
  std::vector<std::int64_t> carried_counts = counts;
  for (std::int64_t& count : carried_counts) count *= at::isComplexType(type_) ? 2 : 1;
  communicator.reduce_scatter(elements_of(from), elements_of(to), op_, carried_counts, call);
  store(to, output);
}

}  // namespace tutti::torch_backend
