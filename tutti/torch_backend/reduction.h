// Reductions of all types and operations of torch, by those that comm has.
//
//   type                        operation                    is reduced as
//   float, double, half, bf16,  sum, average, min, max,      itself
//   int 8, 32, 64, uint 8       product
//   int 16                      the same                     int 32; what overflows is cut as in
//   int 16 bool                        sum, max, or                 max of bytes
//                               product, min, and            min of bytes
//                               xor                          the lowest bit of the sum of bytes
//   complex                     sum, average                 pairs of reals
//   integers                    and, or, xor                 everybody gathers all and folds them
//   by himself
//
// What is not in the table throws c10::Error: nor does torch define it.
#pragma once

#include <ATen/core/Tensor.h>

#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "tutti/comm/communicator.h"

namespace tutti::torch_backend {

class Reduction {
 public:
  Reduction(at::ScalarType type, const c10d::ReduceOp& op);

  // Whether comm can compress it: f32 sums and averages between hosts, large enough to be worth it.
  bool compresses(const comm::Communicator* communicator, const at::Tensor& tensor) const;

  // In place; the tensors are contiguous.
  void all_reduce(comm::Communicator& communicator, at::Tensor tensor,
                  const comm::CallOptions& call) const;
  // The result is stored on the root, elsewhere the tensor stays as it is.
  void reduce(comm::Communicator& communicator, at::Tensor tensor, int root,
              const comm::CallOptions& call) const;
  // Rank r gets `counts[r]` elements of `input` (as elements of its type), in `output`.
  void reduce_scatter(comm::Communicator& communicator, const at::Tensor& input, at::Tensor output,
                      const std::vector<std::int64_t>& counts, const comm::CallOptions& call) const;

 private:
  // The tensor as what is reduced: a view, or for int 16 a copy.
  at::Tensor carried(const at::Tensor& tensor) const;
  void store(const at::Tensor& carrier, const at::Tensor& target) const;
  at::Tensor folded(comm::Communicator& communicator, const at::Tensor& tensor,
                    const comm::CallOptions& call) const;

  at::ScalarType type_;
  at::ScalarType carrier_;
  ReduceOp op_ = ReduceOp::kSum;
  c10d::ReduceOp::RedOpType wanted_;
  bool folds_bits_ = false;
  bool is_parity_ = false;
};

}  // namespace tutti::torch_backend
