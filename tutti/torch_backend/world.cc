#include "tutti/torch_backend/world.h"

#include <fmt/format.h>

#include <utility>

#include "tutti/comm/options.h"
#include "tutti/comm/transport/local/local_transport.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"

namespace tutti::torch_backend {
namespace {

// A timeout set for this library takes precedence over torch's, which is usually left at its default of 30 minutes.
Options options_with(std::chrono::milliseconds timeout) {
  Options options = comm::environment_options();
  if (options.source("timeout") == "default") {
    options.set("timeout", std::to_string(std::chrono::duration<double>(timeout).count()));
  }
  return options;
}

std::unique_ptr<comm::Communicator> meet(const comm::LocalJob& job, const Options& options) {
  return comm::Communicator::create(comm::start_local(job, options.text("interface")), options);
}

// The secret of the launcher takes precedence: torch's store is open to any process that can reach its port.
std::optional<auth::Secret> secret_of(const RendezvousAddress& address) {
  const auto launchers = auth::Secret::from_environment();
  return launchers ? launchers : auth::Secret::from_hex(address.secret);
}

bool is_sound(const comm::Communicator& communicator) {
  try {
    communicator.check();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

World& World::instance() {
  static auto* const world = new World;  // never destroyed: shut_down ends it
  return *world;
}

comm::Communicator& World::communicator() const {
  if (communicator_) return *communicator_;
  throw ConfigError(
      "DDL-4-22",
      "The job has not been initialised. Call torch.distributed.init_process_group('ddl') first.");
}

comm::Communicator& World::connect(int rank, int size,
                                   const std::optional<RendezvousAddress>& address,
                                   std::chrono::milliseconds timeout) {
  if (communicator_ && is_sound(*communicator_) && communicator_->rank() == rank &&
      communicator_->size() == size) {
    return *communicator_;
  }
  communicator_.reset();
  const Options options = options_with(timeout);
  communicator_ = address ? meet({.rank = rank,
                                  .size = size,
                                  .id = address->id,
                                  .master = address->master,
                                  .port = address->port,
                                  .secret = secret_of(*address)},
                                 options)
                          : comm::Communicator::from_environment(options);
  log::set_tag(fmt::format("rank {}", communicator_->rank()));
  if (communicator_->rank() == rank && communicator_->size() == size) return *communicator_;
  throw ConfigError("DDL-4-23",
                    "init_process_group was called with rank " + std::to_string(rank) + " of " +
                        std::to_string(size) + ", but the launcher started rank " +
                        std::to_string(communicator_->rank()) + " of " +
                        std::to_string(communicator_->size()) + ". Omit rank and world_size.");
}

c10::intrusive_ptr<BackendBase> World::keep(std::shared_ptr<comm::Communicator> communicator,
                                            std::chrono::milliseconds timeout) {
  auto group = c10::make_intrusive<ProcessGroupDdl>(std::move(communicator), timeout);
  groups_.emplace_back(group);
  return group;
}

c10::intrusive_ptr<BackendBase> World::start(int rank, int size,
                                             const std::optional<RendezvousAddress>& address,
                                             std::chrono::milliseconds timeout) {
  connect(rank, size, address, timeout);
  return keep(communicator_, timeout);
}

c10::intrusive_ptr<BackendBase> World::group(const std::vector<int>& ranks,
                                             std::chrono::milliseconds timeout) {
  return keep(communicator().group(ranks), timeout);
}

void World::shut_down() {
  for (const auto& weak : groups_) {
    if (const auto group = weak.lock()) group->shut_down();
  }
  groups_.clear();
  communicator_.reset();
}

}  // namespace tutti::torch_backend
