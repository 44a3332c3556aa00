// MPI's own collectives over groups of ranks.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "tutti/comm/transport/mpi/mpi_calls.h"
#include "tutti/comm/transport/vendor.h"

namespace tutti::comm {

class MpiCollectives : public VendorCollectives {
 public:
  // The communicator must outlive this.
  explicit MpiCollectives(MPI_Comm communicator) : communicator_(communicator) {}
  // Frees the communicators made for groups; MPI must still run.
  void free_groups();

  bool supports(plan::Collective collective, DType dtype, ReduceOp op) const override;
  // The first call with a group makes a communicator for it, which waits for all its members.
  Result run(plan::Collective collective, std::span<const int> group, const void* input,
             void* output, std::span<const std::int64_t> counts, DType dtype, ReduceOp op) override;

 private:
  Result find_group(std::span<const int> group, MPI_Comm* communicator);

  const MPI_Comm communicator_;
  std::map<std::vector<int>, MPI_Comm> groups_;
};

}  // namespace tutti::comm
