// The one communicator of all ranks that the process groups of a process stand on.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/torch_backend/process_group.h"

namespace tutti::torch_backend {

// Where ranks meet that nothing but torch brought together.
struct MeetingPlace {
  std::string id;      // the name by which ranks of one host know each other
  std::string master;  // rank 0's host, when there are several; else empty
  int port = 0;        // there
  std::string
      secret;  // 64 hexadecimal digits by which ranks of several hosts authenticate; or empty
};

// Torch starts and ends process groups at will, MPI only once: so the communicator of the job lives
// as long as the process, and groups come and go. Library memory is the same for all of them. Not
// thread-safe: Python's lock guards it.
class World {
 public:
  static World& instance();

  // The default group of a job of `size` ranks, who meet at `place`; without, the environment says
  // how they were started. Collective.
  c10::intrusive_ptr<BackendBase> start(int rank, int size,
                                        const std::optional<MeetingPlace>& place,
                                        std::chrono::milliseconds timeout);
  // A group of `ranks`, who must all call. The default group must be there.
  c10::intrusive_ptr<BackendBase> group(const std::vector<int>& ranks,
                                        std::chrono::milliseconds timeout);
  // The communicator of the job; throws ConfigError when there is none.
  comm::Communicator& communicator() const;
  // Under MPI it may be needed before torch has met; see start for the rest.
  comm::Communicator& connect(int rank, int size, const std::optional<MeetingPlace>& place,
                              std::chrono::milliseconds timeout);
  // All groups finish what they were given and leave; the process is about to end.
  void shut_down();
  bool is_connected() const { return communicator_ != nullptr; }

 private:
  c10::intrusive_ptr<BackendBase> keep(std::shared_ptr<comm::Communicator> communicator,
                                       std::chrono::milliseconds timeout);

  std::shared_ptr<comm::Communicator> communicator_;
  std::vector<c10::weak_intrusive_ptr<ProcessGroupDdl>> groups_;
};

}  // namespace tutti::torch_backend
