#include "tutti/comm/transport/mpi/mpi_environment.h"

#include <cstdlib>

namespace tutti::comm {

const std::vector<MpiSetting>& mpi_settings() {
  static const std::vector<MpiSetting> settings = {
      {"OMPI_MCA_btl_vader_single_copy_mechanism", "none",
       "Open MPI 4: reading a peer's memory needs ptrace rights, which containers deny, with a "
       "message per send; local ranks use Tutti's shared memory anyway"},
      {"OMPI_MCA_smsc", "^cma", "the same for Open MPI 5"},
      {"OMPI_MCA_reachable", "weighted",
       "Open MPI 5 prefers netlink, which warns about every peer on a machine without a route"},
      {"OMPI_MCA_btl_base_warn_component_unused", "0",
       "a machine without InfiniBand is not worth a warning per rank"},
      {"OMPI_MCA_mpi_warn_on_fork", "0", "data loaders fork, and their children do not use MPI"},
  };
  return settings;
}

void apply_mpi_settings() {
  for (const MpiSetting& setting : mpi_settings()) setenv(setting.variable, setting.value, 0);
}

}  // namespace tutti::comm
