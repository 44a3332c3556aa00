#include "tutti/comm/transport/thread/thread_world.h"

#include <fmt/format.h>

#include <exception>
#include <thread>
#include <utility>

#include "tutti/comm/transport/thread/thread_transport.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

std::vector<std::string> names_or_one_host(int size, std::vector<std::string> host_names) {
  if (size < 1) throw ConfigError("DDL-6-04", fmt::format("invalid number of ranks: {}.", size));
  if (host_names.empty()) host_names.assign(size, "host0");
  if (static_cast<int>(host_names.size()) == size) return host_names;
  throw ConfigError("DDL-6-04",
                    fmt::format("{} host names for {} ranks: pass one per rank, or none.",
                                host_names.size(), size));
}

}  // namespace

ThreadWorld::ThreadWorld(int size, std::vector<std::string> host_names)
    : state_(std::make_shared<ThreadWorldState>(
          size, names_or_one_host(size, std::move(host_names)), kCopiedBytes)) {}

int ThreadWorld::size() const {
  return state_->size;
}

std::unique_ptr<Transport> ThreadWorld::transport(int rank) const {
  state_->check_rank(rank);
  return std::make_unique<ThreadTransport>(state_, rank);
}

void ThreadWorld::run(const std::function<void(Transport&)>& body) {
  Mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank) {
    threads.emplace_back([&, rank] {
      log::set_tag(fmt::format("rank {}", rank));
      try {
        body(*transport(rank));
      } catch (...) {
        const MutexLock lock(mutex);
        if (!first) first = std::current_exception();
        end(rank);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

void ThreadWorld::end(int rank) {
  const MutexLock lock(state_->mutex);
  state_->has_ended[rank] = true;
  state_->changed.notify_all();
}

void ThreadWorld::kill(int rank) {
  state_->check_rank(rank);
  for (int peer = 0; peer < size(); ++peer) {
    state_->mailbox(rank, peer).close();
    state_->mailbox(peer, rank).close();
  }
  end(rank);
  const MutexLock lock(state_->mutex);
  state_->is_killed[rank] = true;
  state_->inboxes[rank].clear();
  for (auto& inbox : state_->inboxes) {
    std::erase_if(inbox, [rank](const OutOfBandMessage& message) { return message.from == rank; });
  }
}

void ThreadWorld::pause(int rank) {
  state_->check_rank(rank);
  for (int peer = 0; peer < size(); ++peer) state_->mailbox(rank, peer).set_paused(true);
  const MutexLock lock(state_->mutex);
  state_->is_paused[rank] = true;
}

void ThreadWorld::resume(int rank) {
  state_->check_rank(rank);
  for (int peer = 0; peer < size(); ++peer) state_->mailbox(rank, peer).set_paused(false);
  const MutexLock lock(state_->mutex);
  state_->is_paused[rank] = false;
}

}  // namespace tutti::comm
