// Which transport a process gets by the way it was started.
#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/local/local_transport.h"
#include "tutti/comm/transport/mpi/mpi_environment.h"
#include "tutti/comm/transport/mpi/mpi_transport.h"
#include "tutti/comm/transport/thread/thread_world.h"

namespace tutti::comm {
namespace {

std::shared_ptr<Transport> transport_of(const JobEnvironment& job, const Options& options) {
  switch (job.kind) {
    case JobKind::kAlone: return ThreadWorld(1).transport(0);
    case JobKind::kLocal:
      return start_local(local_job_from_environment(), options.text("interface"));
    case JobKind::kMpi: return start_mpi();
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Communicator> Communicator::from_environment(const Options& options) {
  return create(transport_of(find_job(), options), options);
}

}  // namespace tutti::comm
