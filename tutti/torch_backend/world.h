// The job-wide communicator on which the process groups of this process are built.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/torch_backend/process_group.h"

namespace tutti::torch_backend {

// Rendezvous information for ranks that were started by torch alone (torchrun).
struct RendezvousAddress {
  std::string id;      // name by which ranks of one host find each other
  std::string master;  // host of rank 0 if there are several hosts; otherwise empty
  int port = 0;        // TCP port on `master`
  std::string secret;  // 64 hexadecimal digits that authenticate ranks of several hosts; or empty
};

// Torch creates and destroys process groups at any time, but MPI can be initialised only once. Therefore the
// communicator of the job lives as long as the process, and groups are split off it. All of them share the same
// library-allocated memory. Not thread-safe: guarded by the Python GIL.
class World {
 public:
  static World& instance();

  // Creates the default group of a job of `size` ranks. The ranks rendezvous at `address`; without it, the environment
  // set by the launcher is used. Collective.
  c10::intrusive_ptr<BackendBase> start(int rank, int size,
                                        const std::optional<RendezvousAddress>& address,
                                        std::chrono::milliseconds timeout);
  // Creates a group of `ranks`. All of them must call it. The default group must exist.
  c10::intrusive_ptr<BackendBase> group(const std::vector<int>& ranks,
                                        std::chrono::milliseconds timeout);
  // The communicator of the job. Throws ConfigError if there is none.
  comm::Communicator& communicator() const;
  // Connects the communicator of the job without creating a group; under MPI it may be needed before torch's
  // rendezvous. The arguments are those of `start`.
  comm::Communicator& connect(int rank, int size, const std::optional<RendezvousAddress>& address,
                              std::chrono::milliseconds timeout);
  // Completes the operations of all groups and shuts them down. Called before the process exits.
  void shut_down();
  bool is_connected() const { return communicator_ != nullptr; }

 private:
  c10::intrusive_ptr<BackendBase> keep(std::shared_ptr<comm::Communicator> communicator,
                                       std::chrono::milliseconds timeout);

  std::shared_ptr<comm::Communicator> communicator_;
  std::vector<c10::weak_intrusive_ptr<ProcessGroupDdl>> groups_;
};

}  // namespace tutti::torch_backend
