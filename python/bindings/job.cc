#include "python/bindings/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"

namespace tutti::python {

using comm::Communicator;
using fusion::Engine;

Job& job() {
  static Job* const job = new Job;
  return *job;
}

void Job::begin(const std::string& text) {
  const MutexLock lock(mutex_);
  if (world_) return;
  Options options = comm::environment_options();
  comm::apply_option_string(options, text, "init");
  world_ = Communicator::from_environment(options);
  process_ = getpid();
  log::set_tag(fmt::format("rank {}", world_->rank()));
  std::vector<int> all(static_cast<std::size_t>(world_->size()));
  std::iota(all.begin(), all.end(), 0);
  sets_[0] = {std::move(all), world_, std::make_shared<Engine>(*world_)};
}

void Job::end() {
  std::map<int, ProcessSet> sets;
  std::shared_ptr<Communicator> world;
  {
    const MutexLock lock(mutex_);
    if (!world_ || process_ != getpid()) return;
    sets.swap(sets_);
    world.swap(world_);
    next_set_ = 1;
  }
  // In the same order on all ranks, because their destructors wait for each other.
  while (!sets.empty()) {
    auto last = std::prev(sets.end());
    if (last->second.engine) last->second.engine->shut_down();
    last->second.communicator.reset();
    sets.erase(last);
  }
}

bool Job::is_running() const {
  const MutexLock lock(mutex_);
  return world_ != nullptr;
}

std::shared_ptr<Communicator> Job::world() const {
  const MutexLock lock(mutex_);
  if (!world_)
    throw ConfigError("DDL-4-60",
                      "The job is not running: call init() first, and nothing after the end.");
  return world_;
}

std::shared_ptr<Engine> Job::engine(int process_set) const {
  world();
  const MutexLock lock(mutex_);
  const auto found = sets_.find(process_set);
  if (found == sets_.end())
    throw ConfigError("DDL-4-84",
                      fmt::format("Unknown process set {}. Add it first.", process_set));
  if (!found->second.engine)
    throw ConfigError("DDL-4-85",
                      fmt::format("Rank {} is not in process set {}; only its ranks may call.",
                                  world_->rank(), process_set));
  return found->second.engine;
}

int Job::add_process_set(const std::vector<int>& ranks) {
  const auto all = world();
  const bool is_in = std::find(ranks.begin(), ranks.end(), all->rank()) != ranks.end();
  // All ranks check the list, so an invalid one fails on every rank.
  if (ranks.empty() ||
      std::any_of(ranks.begin(), ranks.end(), [&](int r) { return r < 0 || r >= all->size(); }))
    throw ConfigError(
        "DDL-4-86",
        fmt::format("A process set has ranks from 0 to {}, and at least one.", all->size() - 1));
  ProcessSet set{ranks, all->split(is_in ? 0 : -1, all->rank()), nullptr};
  if (set.communicator) set.engine = std::make_shared<Engine>(*set.communicator);
  const MutexLock lock(mutex_);
  sets_[next_set_] = std::move(set);
  return next_set_++;
}

void Job::remove_process_set(int id) {
  ProcessSet set;
  {
    const MutexLock lock(mutex_);
    const auto found = sets_.find(id);
    if (id == 0 || found == sets_.end())
      throw ConfigError("DDL-4-84",
                        fmt::format("Unknown process set {}; it cannot be removed.", id));
    set = std::move(found->second);
    sets_.erase(found);
  }
  if (set.engine) set.engine->shut_down();
}

std::map<int, std::vector<int>> Job::process_sets() const {
  const MutexLock lock(mutex_);
  std::map<int, std::vector<int>> all;
  for (const auto& [id, set] : sets_) all[id] = set.ranks;
  return all;
}

}  // namespace tutti::python
