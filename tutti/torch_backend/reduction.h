// Reductions for all types and operations of torch, mapped to those of comm.
//
//   type                            operation                        reduced as
//   float, double, half, bfloat16,  sum, average, min, max, product  itself
//     int8, int32, int64, uint8
//   int16                           sum, average, min, max, product  int32; overflow wraps as in int16
//   bool                            sum, max, or                     maximum of bytes
//   bool                            product, min, and                minimum of bytes
//   bool                            xor                              lowest bit of the sum of bytes
//   complex                         sum, average                     pairs of real numbers
//   float, double, half, bfloat16   premultiplied sum                sum of tensors times the factors of their ranks
//   integers                        and, or, xor                     all_gather, then a local reduction on each rank
//
// Combinations that are not in the table throw c10::Error; torch does not define them either.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "tutti/comm/communicator.h"

namespace tutti::torch_backend {

class Reduction {
 public:
  Reduction(at::ScalarType type, const c10d::ReduceOp& op);

  // True if comm can compress this reduction: f32 sums and averages between hosts, above a minimum size.
  bool compresses(const comm::Communicator* communicator, const at::Tensor& tensor) const;

  // In place. All tensors must be contiguous.
  void all_reduce(comm::Communicator& communicator, at::Tensor tensor,
                  const comm::CallOptions& call) const;
  // Stores the result on the root; the tensors of the other ranks are unchanged.
  void reduce(comm::Communicator& communicator, at::Tensor tensor, int root,
              const comm::CallOptions& call) const;
  // Rank r receives `counts[r]` elements of `input`, in units of its type, in `output`.
  void reduce_scatter(comm::Communicator& communicator, const at::Tensor& input, at::Tensor output,
                      const std::vector<std::int64_t>& counts, const comm::CallOptions& call) const;

 private:
  // The tensor times the factor, as a copy; without a factor, the tensor.
  at::Tensor scaled(const at::Tensor& tensor) const;
  // The tensor in the type that is reduced: a view, or a copy for int16.
  at::Tensor carried(const at::Tensor& tensor) const;
  void store(const at::Tensor& carrier, const at::Tensor& target) const;
  at::Tensor reduced(comm::Communicator& communicator, const at::Tensor& tensor,
                     const comm::CallOptions& call) const;

  at::ScalarType type_;
  at::ScalarType carrier_;
  ReduceOp op_ = ReduceOp::kSum;
  c10d::ReduceOp::RedOpType wanted_;
  std::optional<at::Scalar> factor_;
  bool reduces_bits_ = false;
  bool is_parity_ = false;
};

}  // namespace tutti::torch_backend
