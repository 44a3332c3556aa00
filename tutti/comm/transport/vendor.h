// Collectives of the underlying library (MPI_Reduce_scatter, ncclAllReduce, ...): mode letters m, b and n.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tutti/comm/transport/transport.h"
#include "tutti/core/dtype.h"
#include "tutti/core/result.h"
#include "tutti/plan/plan.h"

namespace tutti::comm {

class VendorCollectives {
 public:
  virtual ~VendorCollectives() = default;
  // True if the library supports this type and operation; otherwise the planner must choose another algorithm.
  virtual bool supports(plan::Collective collective, DType dtype, ReduceOp op) const = 0;
  // Starts a collective over `group`: ranks of the transport, in order, including this one. All of them must take part.
  // `*running` is the transfer to test, or null if the collective is already complete. It cannot be cancelled: if the
  // transfer is destroyed early, its memory is leaked, because the library may still access it.
  // - all_reduce: in place in `output`, counts[0] elements.
  // - reduce_scatter: `input` holds the pieces of all members (counts[i] elements each); `output` receives this rank's.
  // - all_gather: the reverse of reduce_scatter. `input` may point into `output`.
  virtual Result start(plan::Collective collective, std::span<const int> group, const void* input,
                       void* output, std::span<const std::int64_t> counts, DType dtype, ReduceOp op,
                       std::unique_ptr<Transfer>* running) = 0;
};

}  // namespace tutti::comm
