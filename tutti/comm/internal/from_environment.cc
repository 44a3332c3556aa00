// Selection of the transport by the launcher of the process.
#include <cstdlib>
#include <optional>
#include <utility>

#include "tutti/comm/communicator.h"
#include "tutti/comm/faults/fork_guard.h"
#include "tutti/comm/transport/local/local_transport.h"
#include "tutti/comm/transport/mpi/mpi_transport.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/core/error.h"
#include "tutti/core/mutex.h"
#include "tutti/os/launcher_environment.h"

namespace tutti::comm {
namespace {

std::shared_ptr<Transport> transport_of(const os::JobEnvironment& job, const Options& options) {
  switch (job.kind) {
    case os::JobKind::kAlone: return ThreadWorld(1).transport(0);
    case os::JobKind::kLocal:
      return start_local(local_job_from_environment(), options.text("interface"));
    case os::JobKind::kMpi: return start_mpi();
  }
  return nullptr;
}

// MPI can be initialised only once per process. If a communicator cannot be created because of its options, such as
// dimensions that do not fit, MPI stays initialised for the next attempt or until the program exits.
class KeptMpi {
 public:
  static KeptMpi& instance() {
    static auto* const kept = new KeptMpi;
    return *kept;
  }
  std::shared_ptr<Transport> take() {
    const MutexLock lock(mutex_);
    return std::exchange(transport_, nullptr);
  }
  void keep(std::shared_ptr<Transport> transport) {
    const MutexLock lock(mutex_);
    if (!fork_guard_) {
      fork_guard_.emplace();
      std::atexit([] { instance().end(); });
    }
    transport_ = std::move(transport);
  }

 private:
  void end() {
    if (!fork_guard_->is_child()) take();
  }

  Mutex mutex_;
  std::optional<ForkGuard> fork_guard_;
  std::shared_ptr<Transport> transport_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Communicator> Communicator::from_environment(const Options& options) {
  std::shared_ptr<Transport> transport = KeptMpi::instance().take();
  if (!transport) transport = transport_of(os::find_job(), options);
  try {
    return create(transport, options);
  } catch (const ConfigError&) {
    if (transport->starts_once()) KeptMpi::instance().keep(transport);
    throw;
  } catch (const Error&) {
    transport->abandon();  // the other ranks may be ahead and never reach the end
    throw;
  }
}

}  // namespace tutti::comm
