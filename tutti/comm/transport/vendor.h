// Collectives that a transport's own library brings (MPI_Reduce_scatter, ncclAllReduce, ...): mode
// letters m, b and n.
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
  // Whether the library knows this type and operation; otherwise another algorithm must be planned.
  virtual bool supports(plan::Collective collective, DType dtype, ReduceOp op) const = 0;
  // Begins it over `group` (ranks of the transport, in order; this rank is one of them), all of
  // whom are known to come. `*running` tells when it is through; none when it already is. It cannot
  // be called back: giving it up leaves its memory to the library for good. all_reduce: in place in
  // `output`, counts[0] elements. reduce_scatter: `input` holds the pieces of all members
  // (counts[i] elements each), `output` receives this rank's. all_gather: the reverse. `input` may
  // lie in `output`.
  virtual Result start(plan::Collective collective, std::span<const int> group, const void* input,
                       void* output, std::span<const std::int64_t> counts, DType dtype, ReduceOp op,
                       std::unique_ptr<Transfer>* running) = 0;
};

}  // namespace tutti::comm
