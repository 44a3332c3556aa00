// MPI collectives over groups of ranks.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tutti/comm/transport/mpi/mpi_calls.h"
#include "tutti/comm/transport/mpi/mpi_transfer.h"
#include "tutti/comm/transport/vendor.h"

namespace tutti::comm {

class MpiCollectives : public VendorCollectives {
 public:
  // `communicator` must outlive this object. `cancel_state` records collectives that were abandoned.
  MpiCollectives(MPI_Comm communicator, std::shared_ptr<MpiCancelState> cancel_state)
      : communicator_(communicator), cancel_state_(std::move(cancel_state)) {}
  // Frees the communicators created for groups. Call before MPI_Finalize.
  void free_groups();

  bool supports(plan::Collective collective, DType dtype, ReduceOp op) const override;
  // The first call for a group creates a communicator for it, which blocks until all its members call.
  Result start(plan::Collective collective, std::span<const int> group, const void* input,
               void* output, std::span<const std::int64_t> counts, DType dtype, ReduceOp op,
               std::unique_ptr<Transfer>* running) override;

 private:
  Result find_group(std::span<const int> group, MPI_Comm* communicator);

  const MPI_Comm communicator_;
  const std::shared_ptr<MpiCancelState> cancel_state_;
  std::map<std::vector<int>, MPI_Comm> groups_;
};

}  // namespace tutti::comm
